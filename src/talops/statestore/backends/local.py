"""`state: local`: files in the layer directories, each with timestamped private copies."""

from __future__ import annotations

import contextlib
import fcntl
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError, TalopsError
from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.statestore.backends import copies
from talops.statestore.backends.interface import (
    Kept,
    StateInfo,
    check_successor,
    held_error,
    info_of,
    md5_of,
    parse_lock,
    write_older,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from talops.statestore.model import Retention


class LocalBackend:
    def __init__(self, files: Mapping[str, Path], backups: Path, keep: Retention) -> None:
        self._files = files
        self._backups = backups
        self._keep = keep

    @property
    def place(self) -> str:
        return "local files"

    async def overview(self) -> list[StateInfo]:
        return [self._info(name, path) for name, path in self._files.items()]

    def _info(self, name: str, path: Path) -> StateInfo:
        """A state that a running tool is writing may look damaged but is not."""
        found = info_of(name, self._current(name), _lock_info(path))
        return replace(found, problem="") if found.problem and not _lockable(path) else found

    async def read(self, state: str, version: str | None = None) -> bytes | None:
        return self._current(state) if version is None else _read(self._copy(state, version))

    async def versions(self, state: str) -> list[Kept]:
        self._file(state)
        return [
            copies.kept(name, data)
            for name in sorted(self._names(state), reverse=True)
            if (data := _read(self._copy(state, name))) is not None
        ]

    async def write(self, state: str, data: bytes, *, force: bool = False) -> None:
        path = self._file(state)
        with _held(path, state):
            check_successor(self._current(state), data, state, force=force)
            self.keep(state)
            write_atomic(path, data, mode=PRIVATE)

    def keep(self, state: str, now: datetime | None = None) -> Path | None:
        """A private copy of the current state; None if it does not exist or is unchanged."""
        data = self._current(state)
        if data is None:
            return None
        names = sorted(self._names(state))
        newest = _read(self._copy(state, names[-1])) if names else None
        if newest is not None and md5_of(newest) == md5_of(data):
            return None
        moment = now or datetime.now(UTC)
        make_private_directory(self._backups / state)
        path = self._copy(state, copies.name_of(data, moment))
        write_atomic(path, data, mode=PRIVATE)
        for name in copies.outdated(self._names(state), self._keep, moment):
            self._copy(state, name).unlink(missing_ok=True)
        return path

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        """Copy all states before and after the body, also if it fails."""
        for state in self._files:
            self.keep(state)
        try:
            yield
        finally:
            for state in self._files:
                self.keep(state)

    async def rollback(self, state: str, version: str) -> None:
        await write_older(self, state, version)

    async def unlock(self, state: str, lock_id: str | None, run: str = "") -> bool:  # noqa: ARG002  (no server binds requests to runs)
        path = self._file(state)
        info = _lock_info(path)
        if info is None:
            return False
        if lock_id not in {None, info.get("ID")}:
            raise held_error(state, info)
        if path.exists() and not _lockable(path):
            raise ConflictError(
                f"{state} is locked by a running process: {info.get('Who', 'unknown')}",
                where=str(path),
                hint="wait until it exits",
            )
        _lock_file(path).unlink(missing_ok=True)
        return True

    async def retire(self, state: str) -> str:
        self.keep(state)
        self._file(state).unlink(missing_ok=True)
        return f"moved to {self._backups / state}"

    async def close(self) -> None:
        """Nothing to close."""

    def _file(self, state: str) -> Path:
        if state not in self._files:
            known = ", ".join(self._files) or "none"
            raise TalopsError(f"state {state} does not exist", hint=f"known states: {known}")
        return self._files[state]

    def _current(self, state: str) -> bytes | None:
        """None also for the empty file that the tools use to lock a state before its creation.

        An empty file instead of an earlier state is a lost state, which has copies.
        """
        data = _read(self._file(state))
        return data if data or self._names(state) else None

    def _copy(self, state: str, name: str) -> Path:
        if copies.made_at(name) is None:
            raise TalopsError(
                f"{name!r} is not a version", where=state, hint=f"talops state versions {state}"
            )
        return self._backups / state / f"{name}{copies.SUFFIX}"

    def _names(self, state: str) -> list[str]:
        folder = self._backups / state
        if not folder.is_dir():
            return []
        names = (path.name.removesuffix(copies.SUFFIX) for path in folder.iterdir())
        return [name for name in names if copies.made_at(name)]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TalopsError(f"cannot read: {error.strerror}", where=str(path)) from error


def _lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock.info")


def _lock_info(path: Path) -> dict[str, Any] | None:
    data = _read(_lock_file(path))
    return None if data is None else parse_lock(data, str(_lock_file(path)))


def _lockable(path: Path) -> bool:
    """The lock of tofu and terraform on the file itself."""
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


@contextlib.contextmanager
def _held(path: Path, state: str) -> Iterator[None]:
    """Hold the lock of the tools while the file is replaced."""
    if not path.exists():
        yield
        return
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise held_error(state, _lock_info(path) or {}) from None
        yield
