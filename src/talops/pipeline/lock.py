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
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from talops import inside
from talops.errors import ConflictError, TalopsError
from talops.files import PRIVATE
from talops.pipeline.lease import Fence, Lease, LostLockError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

PLACE = ".talops/place"


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
    # Unique for each run: no other holder has the same lock id.
    token: str = ""
    # The lock file of the holder and the start of its machine. A process that holds the same file
    # since the same start knows that this holder has ended.
    proof: str = ""

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
        return cls(
            run,
            command,
            user,
            host,
            os.getpid(),
            str(where),
            now,
            _place(where),
            token=secrets.token_hex(16),
        )


class SharedLock(Protocol):
    """A lock that other machines see too, such as an entry of the state server."""

    @property
    def lease(self) -> float:
        """Seconds without a renewal after which others may take it (0 = forever)."""
        ...

    def token(self, holder: Holder) -> str:
        """What makes the state server refuse this run once it has lost the lock."""
        ...

    async def renew(self, holder: Holder) -> bool:
        """False if another holder took it."""
        ...

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
    path.parents[1].mkdir(parents=True, exist_ok=True)
    # The file is emptied, never removed: a second process may already have opened it.
    with inside.opened(*_split(path), os.O_RDWR | os.O_CREAT, PRIVATE) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _held(read_holder(path), str(path)) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(holder)).encode(), 0)
        yield
        os.ftruncate(descriptor, 0)


def _split(path: Path) -> tuple[Path, str]:
    """The directory of the cluster, and the path below it that a repository may contain."""
    return path.parents[1], f"{path.parent.name}/{path.name}"


@contextlib.asynccontextmanager
async def shared_lock(
    lock: SharedLock | None,
    holder: Holder,
    warn: Callable[[str], None],
    fence: Fence | None = None,
) -> AsyncIterator[None]:
    """Acquired inside `local_lock`: another holder with the same lock file must be a dead process.

    `fence` is closed when the lock is lost.
    """
    if lock is None:
        yield
        return
    # It begins no later than the request that acquires the lock.
    lease = Lease(lock, holder)
    other = await lock.acquire(holder)
    if other and _is_dead(other, holder, lock):
        await lock.release(other)
        lease = Lease(lock, holder)
        other = await lock.acquire(holder)
    if other:
        raise _held(other, "the shared lock", lock.way_out(other))
    try:
        async with lease.kept(warn):
            with (fence or Fence()).guarded(lease, lock.token(holder)):
                yield
    finally:
        try:
            # Not if another run has it: releasing takes more than one request in some stores.
            await lease.check()
            await lock.release(holder)
        except LostLockError:
            pass
        except TalopsError as error:
            # The work of the run is done; the next run from this directory takes over the lock.
            warn(f"cannot release the shared lock: {error}")


def _is_dead(other: Holder, holder: Holder, lock: SharedLock) -> bool:
    """Whether a holder has certainly ended. A lease needs no guess: it ends without a renewal."""
    if other.proof and holder.proof and other.proof == holder.proof:
        return True
    if lock.lease:
        return False
    here = (holder.host, holder.directory, holder.place)
    return bool(holder.place) and (other.host, other.directory, other.place) == here


def proof_of(path: Path) -> str:
    """The lock file that this process holds, on this machine since its start."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    found = path.stat()
    return f"{boot}:{found.st_dev}:{found.st_ino}"


def _place(directory: Path) -> str:
    """A random id for this directory, created once; empty if it cannot be stored."""
    try:
        return inside.read(directory, PLACE).decode().strip()
    except FileNotFoundError:
        word = secrets.token_hex(8)
    except (OSError, UnicodeDecodeError):
        return ""
    try:
        inside.write(directory, PLACE, word + "\n", mode=PRIVATE)
    except (OSError, TalopsError):
        return ""
    return word


def read_holder(path: Path) -> Holder | None:
    try:
        return Holder(**json.loads(inside.read(*_split(path))))
    except (OSError, ValueError, TypeError):  # being written, or written by another version
        return None


def is_held(path: Path) -> bool:
    """Whether a run is in progress: try the lock without keeping it."""
    try:
        with inside.opened(*_split(path), os.O_RDONLY) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _held(holder: Holder | None, where: str, hint: str | None = None) -> ConflictError:
    who = str(holder) if holder else "another run"
    return ConflictError(
        f"another run is in progress: {who}",
        where=where,
        hint=hint or "wait for it to finish; talops runs list shows it",
    )
