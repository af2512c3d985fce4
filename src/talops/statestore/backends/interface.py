"""The operations on the states of an inventory, for every backend."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from talops.errors import ConflictError, TalopsError
from talops.statestore.documents import NotAStateError, StateHeader, header_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# The permanent lock of a state that has another name now.
MOVED = "moved-to-"


@dataclass(frozen=True, slots=True)
class StateInfo:
    """One state in a list; `problem` says why it cannot be read."""

    name: str
    serial: int | None = None
    lineage: str = ""
    size: int = 0
    md5: str = ""
    lock: Mapping[str, Any] | None = None
    problem: str = ""

    @property
    def exists(self) -> bool:
        return self.serial is not None

    @property
    def was_moved(self) -> bool:
        return self.lock is not None and str(self.lock.get("ID", "")).startswith(MOVED)


@dataclass(frozen=True, slots=True)
class Kept:
    """One stored version; other commands take `id` as VERSION."""

    id: str
    serial: int
    lineage: str
    size: int
    md5: str
    at: str
    who: str = ""
    note: str = ""


class StateBackend(Protocol):
    """Reading returns bytes, or None for "does not exist"; "could not read" is always an error."""

    @property
    def place(self) -> str:
        """The location of these states, for messages."""
        ...

    async def overview(self) -> Sequence[StateInfo]: ...

    async def read(self, state: str, version: str | None = None) -> bytes | None: ...

    async def versions(self, state: str) -> Sequence[Kept]:
        """Newest first."""
        ...

    async def write(self, state: str, data: bytes, *, force: bool = False) -> None:
        """Write under the lock of the state; the previous content is kept as a version."""
        ...

    async def rollback(self, state: str, version: str) -> None: ...

    async def unlock(self, state: str, lock_id: str | None, run: str = "") -> bool:
        """Remove a lock; False if there was none. `run` is the token of the run that does it."""
        ...

    async def retire(self, state: str) -> str:
        """After a migration: hide the state from the tools. Returns what happened to it."""
        ...

    async def close(self) -> None: ...


def info_of(name: str, data: bytes | None, lock: Mapping[str, Any] | None) -> StateInfo:
    if data is None:
        return StateInfo(name, lock=lock)
    md5 = md5_of(data)
    try:
        header = header_of(data)
    except NotAStateError as error:
        return StateInfo(name, None, "", len(data), md5, lock, error.what)
    return StateInfo(name, header.serial, header.lineage, len(data), md5, lock)


def md5_of(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def check_successor(current: bytes | None, data: bytes, state: str, *, force: bool) -> StateHeader:
    """The rules of the state server, for backends without rules."""
    header = header_of(data)
    if current is None or force:
        return header
    try:
        before = header_of(current)
    except NotAStateError:  # a restore may replace a corrupt state
        return header
    if before.lineage != header.lineage or header.serial < before.serial:
        raise ConflictError(
            f"the stored state has serial {before.serial} and lineage {before.lineage}, "
            f"the new one serial {header.serial} and lineage {header.lineage}",
            where=state,
            hint="check that it is the right file; to overwrite the state, use --force",
        )
    return header


def held_error(state: str, lock: Mapping[str, Any]) -> ConflictError:
    who = f"{lock.get('Who') or 'an unknown user'} ({lock.get('Operation') or 'unknown operation'})"
    return ConflictError(
        f"{state} is locked by {who} since {lock.get('Created', 'an unknown time')}",
        hint=f"wait, or: talops state unlock {state} --id {lock.get('ID', '')}",
    )


def parse_lock(data: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise TalopsError("the lock cannot be read", where=where) from error
    return found if isinstance(found, dict) else {}


async def write_older(backend: StateBackend, state: str, version: str) -> None:
    """A rollback where no server does it: the older version becomes the newest one."""
    data = await backend.read(state, version)
    if data is None:
        raise TalopsError(
            f"version {version} does not exist",
            where=state,
            hint=f"talops state versions {state}",
        )
    await backend.write(state, data, force=True)
