"""How git is called in a repository whose configuration is not trusted.

An archive, a shared directory or a submodule may bring its own `.git/config`; without these
settings, listing files can run the programs that it names.
"""

from __future__ import annotations

_SETTINGS = (
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "credential.helper=",
    # A file that a partial clone lacks is not fetched.
    "protocol.allow=never",
    # A directory of the tree that looks like a repository is not one.
    "safe.bareRepository=explicit",
)
_NO_HOOKS = "core.hooksPath=/dev/null"


def git(*words: str, hooks: bool = False) -> list[str]:
    """The command line; with `hooks`, git tells the configured directory of hooks."""
    settings = _SETTINGS if hooks else (*_SETTINGS, _NO_HOOKS)
    return ["git", "--no-pager", *(part for each in settings for part in ("-c", each)), *words]
