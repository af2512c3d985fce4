"""One run at a time on one cluster: on this machine, and across machines where a lock is shared."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from talops.errors import ConflictError
from talops.files import PRIVATE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Holder:
    """Who runs what, where and since when."""

    run: str
    command: str
    user: str
    host: str
    pid: int
    directory: str
    since: str

    def __str__(self) -> str:
        return (
            f"talops {self.command} by {self.user}@{self.host} (pid {self.pid}) since {self.since}"
        )

    @classmethod
    def myself(cls, run: str, command: str, directory: Path) -> Holder:
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container without a passwd entry
            user = str(os.getuid())
        now = datetime.now(UTC).isoformat(timespec="seconds")
        place = str(directory.resolve())
        return cls(run, command, user, socket.gethostname(), os.getpid(), place, now)


class SharedLock(Protocol):
    """A lock that other machines see too, such as one entry of the state server."""

    async def acquire(self, holder: Holder) -> Holder | None:
        """Take it; if it is taken, say by whom and take nothing."""
        ...

    async def release(self, holder: Holder) -> None:
        """Give it back; only if this holder has it."""
        ...


@contextlib.contextmanager
def local_lock(path: Path, holder: Holder) -> Iterator[None]:
    """The kernel gives the lock back when the process ends, also after kill -9."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The file is emptied, never removed: a second process may already have opened it.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _held(read_holder(path), str(path)) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(holder)).encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


@contextlib.asynccontextmanager
async def shared_lock(lock: SharedLock | None, holder: Holder) -> AsyncIterator[None]:
    """Taken inside `local_lock`: a holder in this very directory can then only be a dead one."""
    if lock is None:
        yield
        return
    other = await lock.acquire(holder)
    if other and (other.host, other.directory) == (holder.host, holder.directory):
        await lock.release(other)
        other = await lock.acquire(holder)
    if other:
        raise _held(other, "the shared lock")
    try:
        yield
    finally:
        await lock.release(holder)


def read_holder(path: Path) -> Holder | None:
    try:
        return Holder(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # being written, or of another version
        return None


def is_held(path: Path) -> bool:
    """Whether a run is under way, by asking for the lock without keeping it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _held(holder: Holder | None, where: str) -> ConflictError:
    who = str(holder) if holder else "another run"
    return ConflictError(
        f"this cluster is being worked on: {who}",
        where=where,
        hint="wait for it to end; talops runs list shows it",
    )
