"""Copies of all states of a backend, and the newest version that can replace the current one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.statestore.backends.interface import md5_of
from talops.statestore.documents import header_of

if TYPE_CHECKING:
    from pathlib import Path

    from talops.statestore.backends.interface import StateBackend


async def back_up(backend: StateBackend, to: Path) -> list[Path]:
    """Write each state to a private file; fails if one cannot be read."""
    make_private_directory(to)
    written = []
    for info in await backend.overview():
        if info.problem:
            raise TalopsError(f"{info.name}: {info.problem}", where=backend.place)
        data = await backend.read(info.name) if info.exists else None
        if data is not None:
            path = to / f"{info.name}-s{info.serial}-{md5_of(data)[:8]}.tfstate"
            write_atomic(path, data, mode=PRIVATE)
            written.append(path)
    return written


def whole_state(file: Path) -> bytes:
    """The content of a file that is a valid state."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise TalopsError(f"cannot read: {error.strerror}", where=str(file)) from error
    header_of(data)
    return data


async def restore_newest(backend: StateBackend, state: str) -> str:
    """Restore the newest version that is a valid state and differs from the current one."""
    present = await backend.read(state)
    for each in await backend.versions(state):
        if each.lineage and (present is None or each.md5 != md5_of(present)):
            await backend.rollback(state, each.id)
            return f"version {each.id}"
    raise TalopsError(
        f"no other version of {state} exists",
        where=backend.place,
        hint=f"restore from a file: talops state restore {state} FILE",
    )
