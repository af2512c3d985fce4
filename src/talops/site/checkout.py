"""What a repository must not contain: symlinks that lead outside, and records of runs.

Its symlinks would make talops, OpenTofu and sops read and write elsewhere, and committed records in
`.talops` would describe machines that talops has never seen.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from talops import inside
from talops.errors import TalopsError
from talops.files import PRIVATE
from talops.gitcommand import git
from talops.origin import origin
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = ".talops"
# `talops` was here: these records are its own.
MARK = f"{HOME}/here"
# Read or written by talops or by a program that it starts.
_FILES = (
    ".sops.yaml",
    ".gitignore",
    ".schema",
    "Taskfile.yaml",
    "age.key",
    "justfile",
    "kubeconfig",
    "talosconfig",
)
_TREES = (HOME, "infrastructure", "talos", "kubernetes")
# The lab's own machines, and what `tofu init` links from a cache after it has checked it.
_NOT_READ = {f"{HOME}/lab"}
_LINKED_BY_TOFU = ".terraform"
# OpenTofu takes any program from there that has the name of a provider.
_PLUGINS = "terraform.d"
_SHOWN = 5


def refuse_foreign(root: Path) -> None:
    """Refuse this directory if it could make talops act outside of it."""
    found = sorted(_links(root))
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise TalopsError(
            f"{count(len(found), 'path')} in this directory would make talops act outside of it",
            where=", ".join(found[:_SHOWN]) + more,
            hint=_hint(found),
        )
    if (root / HOME).is_dir() and not is_marked(root) and _tracked(root):
        raise TalopsError(
            "this directory is committed, so its records are not those of this machine",
            where=HOME,
            hint=f"git rm -r --cached {HOME}; rm -r {HOME}",
        )


def _hint(found: list[str]) -> str:
    if "age.key" in found:
        return "replace it with the file, or set SOPS_AGE_KEY_FILE to the key"
    if "kubeconfig" in found:
        return "replace it with the file, or set KUBECONFIG to it"
    return f"replace it with a file or a directory, or remove it: rm -r {shlex.quote(found[0])}"


def _links(root: Path) -> Iterator[str]:
    real = root.resolve()
    for name in _FILES:
        path = root / name
        if path.is_symlink() and not path.resolve().is_relative_to(real):
            yield name
    for name in _TREES:
        if (root / name).is_symlink():
            yield name
        else:
            yield from _below(root / name, name, real)


def _below(folder: Path, name: str, real: Path) -> Iterator[str]:
    """In `.talops` no symlink is allowed, elsewhere those that stay in the repository."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            path = f"{name}/{entry.name}"
            if entry.name == _PLUGINS and name.startswith("infrastructure"):
                yield path
            elif entry.is_symlink():
                if name.startswith(HOME) or not Path(entry).resolve().is_relative_to(real):
                    yield path
            elif entry.is_dir() and entry.name != _LINKED_BY_TOFU and path not in _NOT_READ:
                yield from _below(Path(entry), path, real)


def mark(root: Path) -> None:
    """Remember that the records in this directory are made here."""
    with inside.folder(root, HOME, create=True) as home:
        made = origin(os.fstat(home))
    if not is_marked(root):
        inside.write(root, MARK, f"{made}\n", mode=PRIVATE)


def is_marked(root: Path) -> bool:
    try:
        with inside.folder(root, HOME) as home:
            return inside.read(root, MARK).decode().strip() == origin(os.fstat(home))
    except (OSError, UnicodeDecodeError):
        return False


def _tracked(root: Path) -> bool:
    """Whether a clone would bring this directory; false without git."""
    words = git("-C", str(root), "ls-files", "-z", "--", HOME)
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout)
