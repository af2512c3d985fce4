"""The run lock that other machines see: an entry next to the remote states."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from talops.errors import DeniedError, TalopsError
from talops.pipeline.lock import Holder
from talops.statestore.backends.locks import NotOfferedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.statestore.backends.locks import NamedLocks

SUFFIX = ".run"
# Seconds without a renewal after which another run may take over.
LEASE = 60.0
LEASE_VARIABLE = "TALOPS_RUN_LEASE"


def lease_of(environment: Mapping[str, str]) -> float:
    text = environment.get(LEASE_VARIABLE, "")
    try:
        return float(text) if text else LEASE
    except ValueError as error:
        raise TalopsError(
            f"{LEASE_VARIABLE} is not a number of seconds: {text!r}",
            hint=f"the default is {LEASE:.0f}",
        ) from error


def lock_name(cluster: str) -> str:
    """A name that no layer's state can have."""
    return f"{cluster}{SUFFIX}"


class RunLock:
    """A `SharedLock`; `note` receives a warning if the server does not support locks."""

    def __init__(
        self,
        cluster: str,
        locks: NamedLocks,
        note: Callable[[str], None],
        lease: float = LEASE,
    ) -> None:
        self._name = lock_name(cluster)
        self._locks = locks
        self._note = note
        self._wanted = lease

    @property
    def lease(self) -> float:
        return self._locks.lease

    def token(self, holder: Holder) -> str:
        return f"{self._name}:{identity(holder)}" if self._locks.fences else ""

    async def renew(self, holder: Holder) -> bool:
        return await self._locks.renew(self._name, self._document(holder))

    def _document(self, holder: Holder) -> dict[str, Any]:
        return {**document(holder), "Lease": self._wanted}

    async def acquire(self, holder: Holder) -> Holder | None:
        try:
            found = await self._locks.acquire(self._name, self._document(holder))
        except NotOfferedError:
            self._note(
                f"{self._locks.place} does not support run locks: runs on other machines are "
                "not detected"
            )
            return None
        except DeniedError as error:
            raise DeniedError(
                error.what,
                where=error.where,
                hint=(
                    f"a run needs write access to its lock {self._name}: grant it with talops "
                    "state user"
                ),
            ) from error
        return None if found is None else read(found)

    async def release(self, holder: Holder) -> None:
        await self._locks.release(self._name, identity(holder))

    def way_out(self, holder: Holder) -> str:
        release = f"talops state unlock {self._name} --id {identity(holder)}"
        if self.lease:
            return (
                f"wait for it to finish; if it was killed, its lock ends {self.lease:.0f} seconds "
                f"after its last renewal, or release the lock: {release}"
            )
        return (
            f"wait for it to finish; if it was killed, run talops on {holder.host} again, or "
            f"release the lock: {release}"
        )

    async def close(self) -> None:
        await self._locks.close()


def identity(holder: Holder) -> str:
    """The lock ID is derived from the holder, so that each identifies the other."""
    if holder.lock_id:
        return holder.lock_id
    text = json.dumps(asdict(holder), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def document(holder: Holder) -> dict[str, Any]:
    """The LockInfo that OpenTofu and others write; Info contains the holder."""
    return {
        "ID": identity(holder),
        "Operation": f"talops {holder.command}",
        "Who": f"{holder.user}@{holder.host}",
        "Created": holder.since,
        "Info": json.dumps(asdict(holder)),
        "Version": "1",
        "Path": holder.directory,
    }


def read(found: dict[str, Any]) -> Holder:
    """The holder, as far as the document says; the lock may have been created manually."""
    known, lock_id = set(Holder.__dataclass_fields__), str(found.get("ID", ""))
    try:
        told = json.loads(str(found.get("Info") or "{}"))
        return replace(Holder(**{k: v for k, v in told.items() if k in known}), lock_id=lock_id)
    except (ValueError, TypeError, AttributeError):
        user, _, host = str(found.get("Who") or "unknown user").partition("@")
        command = str(found.get("Operation") or "?").removeprefix("talops ")
        since = str(found.get("Created") or "?")
        return Holder("", command, user, host, 0, "", since, lock_id=lock_id)
