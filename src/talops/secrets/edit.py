"""Edit an encrypted file in the user's editor, which sees the plain text and no key."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops.environment import without_keys
from talops.errors import TalopsError, ToolError
from talops.files import PRIVATE, write_atomic
from talops.secrets.private import private_directory
from talops.secrets.vault import replacing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from talops.secrets.sops import Sops

# Without these options, vim may write the plain text to swap, undo, backup and viminfo files.
_VIM = ("-n", "-i", "NONE", "--cmd", "set noundofile nobackup nowritebackup")


async def _never(_: str) -> bool:
    return False


async def edit(
    sops: Sops,
    file: Path,
    environment: Mapping[str, str],
    again: Callable[[str], Awaitable[bool]] = _never,
) -> bool:
    """True if the file was changed; on any failure it is unchanged.

    `again` is told what is wrong with the new text, and returns whether to open it once more.
    """
    _check_exists(file)
    runtime = environment.get("XDG_RUNTIME_DIR")
    candidates = [*([Path(runtime)] if runtime else []), Path("/dev/shm"), Path("/run")]  # noqa: S108  (it must be memory)
    with private_directory(candidates) as folder, replacing(file) as copy:
        plain, before = folder / file.name, await sops.decrypt(copy)
        write_atomic(plain, before, mode=PRIVATE)
        while True:
            await _open_editor(plain, environment)
            if plain.read_bytes() == before.encode():
                return False
            wrong = _wrong(plain)
            if wrong is None:
                return await sops.replace_plain(copy, plain, environment)
            if not await again(wrong.what):
                raise wrong


async def _open_editor(plain: Path, environment: Mapping[str, str]) -> None:
    words = [*shlex.split(editor_command(environment)), str(plain)]
    try:
        process = await asyncio.create_subprocess_exec(*words, env=without_keys(environment))
    except OSError as error:
        raise ToolError(
            f"cannot start the editor: {error.strerror}",
            where=words[0],
            hint="set EDITOR to an installed editor",
        ) from error
    if code := await process.wait():
        raise ToolError(f"the editor ended with exit code {code}; nothing changed", where=words[0])


def _wrong(plain: Path) -> TalopsError | None:
    """What sops would refuse; here the text can be opened again."""
    try:
        text = plain.read_text(encoding="utf-8")
        if plain.suffix in {".yaml", ".yml", ".json"}:
            for _ in YAML(typ="safe", pure=True).parse(text):
                pass
    except (UnicodeDecodeError, YAMLError) as error:
        return TalopsError(
            f"not valid YAML; nothing changed: {str(error).splitlines()[0]}",
            where=plain.name,
            hint="talops secrets edit",
        )
    return None


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
