"""One run at a time per cluster: on this machine, and across machines with a shared lock."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import secrets
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from talops.errors import ConflictError, TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Holder:
    """Who holds the lock: command, user, host and start time."""

    run: str
    command: str
    user: str
    host: str
    pid: int
    directory: str
    since: str
    # Distinguishes this directory from one with the same path on another host of the same name.
    place: str = ""
    # Only set if the lock was not taken by a run: its own id.
    lock_id: str = ""

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
        host, where = socket.gethostname(), directory.resolve()
        return cls(run, command, user, host, os.getpid(), str(where), now, _place(where))


class SharedLock(Protocol):
    """A lock that other machines see too, such as an entry of the state server."""

    async def acquire(self, holder: Holder) -> Holder | None:
        """Acquire the lock; if it is held, return the holder and do nothing."""
        ...

    async def release(self, holder: Holder) -> None:
        """Release the lock, only if this holder has it."""
        ...

    def way_out(self, holder: Holder) -> str:
        """The hint for a run that is refused because of this holder."""
        ...


@contextlib.contextmanager
def local_lock(path: Path, holder: Holder) -> Iterator[None]:
    """The kernel releases the lock when the process ends, also after kill -9."""
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
async def shared_lock(
    lock: SharedLock | None, holder: Holder, warn: Callable[[str], None]
) -> AsyncIterator[None]:
    """Acquired inside `local_lock`, so a holder in this same directory must be a dead process."""
    if lock is None:
        yield
        return
    other = await lock.acquire(holder)
    if other and _same_place(other, holder):
        await lock.release(other)
        other = await lock.acquire(holder)
    if other:
        raise _held(other, "the shared lock", lock.way_out(other))
    try:
        yield
    finally:
        try:
            await lock.release(holder)
        except TalopsError as error:
            # The work of the run is done; the next run from this directory takes over the lock.
            warn(f"cannot release the shared lock: {error}")


def _same_place(other: Holder, holder: Holder) -> bool:
    here = (holder.host, holder.directory, holder.place)
    return bool(holder.place) and (other.host, other.directory, other.place) == here


def _place(directory: Path) -> str:
    """A random id for this directory, created once; empty if it cannot be stored."""
    file = directory / ".talops" / "place"
    try:
        return file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        word = secrets.token_hex(8)
    except OSError:
        return ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, word + "\n", mode=PRIVATE)
    except (OSError, TalopsError):
        return ""
    return word


def read_holder(path: Path) -> Holder | None:
    try:
        return Holder(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # being written, or written by another version
        return None


def is_held(path: Path) -> bool:
    """Whether a run is in progress: try the lock without keeping it."""
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


def _held(holder: Holder | None, where: str, hint: str | None = None) -> ConflictError:
    who = str(holder) if holder else "another run"
    return ConflictError(
        f"another run is in progress: {who}",
        where=where,
        hint=hint or "wait for it to finish; talops runs list shows it",
    )
