"""Edit an encrypted file in the user's editor."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.secrets.private import private_directory
from talops.secrets.vault import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.secrets.sops import Sops

# Without these options, vim may write the plain text to swap, undo, backup and viminfo files.
_VIM = ("-n", "-i", "NONE", "--cmd", "set noundofile nobackup nowritebackup")

_KEYS = frozenset({"SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_CMD"})


async def edit(sops: Sops, file: Path, environment: Mapping[str, str]) -> bool:
    """True if the file was changed; on any failure it is unchanged."""
    _check_exists(file)
    runtime = environment.get("XDG_RUNTIME_DIR")
    candidates = [*([Path(runtime)] if runtime else []), Path("/dev/shm"), Path("/run")]  # noqa: S108  (it must be memory)
    with private_directory(candidates) as folder, replacing(file) as copy:
        own = {"TMPDIR": str(folder), "SOPS_EDITOR": editor_command(environment)}
        # A key from the environment goes no further: sops gets it in memory, the editor does not.
        rest = {name: value for name, value in environment.items() if name not in _KEYS}
        return await sops.edit(copy, {**rest, **own})


def _check_exists(file: Path) -> None:
    if not file.exists():
        raise TalopsError("file does not exist", where=str(file), hint="talops secrets init")


def editor_command(environment: Mapping[str, str]) -> str:
    """SOPS_EDITOR, VISUAL or EDITOR; vim gets options against temporary files."""
    names = ("SOPS_EDITOR", "VISUAL", "EDITOR")
    chosen = next((environment[name] for name in names if environment.get(name)), "vi")
    words = shlex.split(chosen)
    if Path(words[0]).name in {"vi", "vim", "nvim"}:
        words = [*words, *_VIM]
    return shlex.join(words)
