"""One run at a time on one cluster: on this machine, and across machines where a lock is shared."""

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
    """Who runs what, where and since when."""

    run: str
    command: str
    user: str
    host: str
    pid: int
    directory: str
    since: str
    # Tells this directory from one of the same name on a machine of the same name.
    place: str = ""
    # Only where the lock was not taken by a run: its own id.
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
    """A lock that other machines see too, such as one entry of the state server."""

    async def acquire(self, holder: Holder) -> Holder | None:
        """Take it; if it is taken, say by whom and take nothing."""
        ...

    async def release(self, holder: Holder) -> None:
        """Give it back; only if this holder has it."""
        ...

    def way_out(self, holder: Holder) -> str:
        """What somebody can do who is refused because of this holder."""
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
async def shared_lock(
    lock: SharedLock | None, holder: Holder, warn: Callable[[str], None]
) -> AsyncIterator[None]:
    """Taken inside `local_lock`: a holder in this very directory can then only be a dead one."""
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
            # What the run did is done; its next run takes the lock over.
            warn(f"the shared lock could not be given back: {error}")


def _same_place(other: Holder, holder: Holder) -> bool:
    here = (holder.host, holder.directory, holder.place)
    return bool(holder.place) and (other.host, other.directory, other.place) == here


def _place(directory: Path) -> str:
    """A word of its own for this directory, made once; empty where none can be kept."""
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


def _held(holder: Holder | None, where: str, hint: str | None = None) -> ConflictError:
    who = str(holder) if holder else "another run"
    return ConflictError(
        f"this cluster is being worked on: {who}",
        where=where,
        hint=hint or "wait for it to end; talops runs list shows it",
    )
