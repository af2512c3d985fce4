"""Replace several files together or not at all, also if the process is killed in between.

Everything is staged in `.talops/configure`; then a journal with all renames is renamed into place.
The next command that changes files finishes it. A journal is followed only where it was written: a
repository or an archive may contain one, with any path in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from typing import TYPE_CHECKING

from talops import inside
from talops.errors import TalopsError
from talops.files import PRIVATE, writing
from talops.origin import origin

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HOME, NAME = ".talops", "configure"
STAGING = f"{HOME}/{NAME}"
_JOURNAL = "journal.json"
_STAGED = re.compile(r"[0-9]{4,}")
_OTHERS = 0o077

# Path → name of the staged file; None removes the file.
Moves = list[tuple[str, str | None]]


def replace_together(root: Path, contents: Iterable[tuple[str, str | None]]) -> None:
    """Write these files, or remove them (None); nothing else is touched before the journal."""
    discard(root)
    moves: Moves = []
    for index, (path, content) in enumerate(contents):
        inside.parts_of(path)
        staged = None if content is None else f"{index:04}"
        if staged and content is not None:
            inside.write(root, f"{STAGING}/{staged}", content)
        moves.append((path, staged))
    _write(root, moves)
    finish(root)


def finish(root: Path) -> bool:
    """Finish an interrupted replacement; True if there was one."""
    moves = _read(root)
    if moves is None:
        return False
    for path, staged in moves:
        if staged is None:
            inside.remove(root, path)
        else:
            with contextlib.suppress(FileNotFoundError):  # moved before the interruption
                inside.move(root, f"{STAGING}/{staged}", path)
    inside.remove(root, f"{STAGING}/{_JOURNAL}")
    discard(root)
    return True


def discard(root: Path) -> None:
    """Remove what is staged; a symlink stays, and is refused by the next write."""
    with contextlib.suppress(FileNotFoundError), inside.folder(root, HOME) as home:
        shutil.rmtree(NAME, ignore_errors=True, dir_fd=home)


def _write(root: Path, moves: Moves) -> None:
    with (
        writing(root / STAGING / _JOURNAL),
        inside.folder(root, HOME, NAME, create=True) as staging,
    ):
        beside = f".{_JOURNAL}.{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(beside, flags, PRIVATE, dir_fd=staging), "w") as file:
            os.fchmod(file.fileno(), PRIVATE)
            made = origin(os.fstat(staging), os.fstat(file.fileno()))
            json.dump({"version": 2, "origin": made, "moves": moves}, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(beside, _JOURNAL, src_dir_fd=staging, dst_dir_fd=staging)


def _read(root: Path) -> Moves | None:
    """The moves of a journal that was written here; None without one."""
    try:
        with (
            inside.folder(root, HOME, NAME) as staging,
            inside.opened(root, f"{STAGING}/{_JOURNAL}", os.O_RDONLY) as handle,
        ):
            found = os.fstat(handle)
            made = origin(os.fstat(staging), found)
            with os.fdopen(os.dup(handle), encoding="utf-8") as file:
                data = json.load(file)
    except (FileNotFoundError, inside.OutsideError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise TalopsError(
            f"the journal of an interrupted talops configure cannot be read: {error}",
            where=str(root / STAGING),
            hint=f"rm -r {root / STAGING}, then: talops configure",
        ) from error
    ours = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS
    return _moves(data, made) if ours else None


def _moves(data: object, made: str) -> Moves | None:
    if not isinstance(data, dict) or data.get("origin") != made:
        return None
    moves: Moves = [(str(path), staged) for path, staged in data["moves"]]
    for path, staged in moves:
        inside.parts_of(path)
        if staged is not None and not _STAGED.fullmatch(staged):
            raise inside.OutsideError("not the name of a staged file", where=staged)
    return moves
