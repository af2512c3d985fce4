"""`state: s3`: the objects of the s3 backend of the tools, with its lock files."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
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
from talops.statestore.s3.bucket import Bucket, ChangedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.statestore.model import Retention

LOCK_SUFFIX = ".tflock"
BACKUPS = "backups"


@dataclass(frozen=True, slots=True)
class S3Settings:
    """`options` are the AWS_* variables of endpoint, region and keys."""

    bucket: str
    prefix: str
    states: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


class S3Backend:
    def __init__(self, settings: S3Settings, keep: Retention, who: str = "talops") -> None:
        self._settings = settings
        self._keep = keep
        self._who = who
        self._bucket = Bucket(settings.bucket, settings.prefix, settings.options)

    @property
    def place(self) -> str:
        return f"s3://{self._settings.bucket}/{self._settings.prefix}"

    async def overview(self) -> list[StateInfo]:
        # The lock of a run has no state; it is found by its lock file.
        keys = [key.removesuffix(LOCK_SUFFIX) for key, _ in await self._bucket.list("")]
        found = {
            key.removesuffix(copies.SUFFIX)
            for key in keys
            if key.endswith(copies.SUFFIX) and "/" not in key
        }
        return [
            info_of(name, await self.read(name), await self._lock(name))
            for name in sorted(found | set(self._settings.states))
        ]

    async def read(self, state: str, version: str | None = None) -> bytes | None:
        key = _key(state) if version is None else _copy(state, version)
        found = await self._bucket.get(key)
        return found[0] if found else None

    async def versions(self, state: str) -> list[Kept]:
        return [
            copies.kept(name, data)
            for name in sorted(await self._names(state), reverse=True)
            if (data := await self.read(state, name)) is not None
        ]

    async def write(self, state: str, data: bytes, *, force: bool = False) -> None:
        await self._take_lock(state)
        try:
            check_successor(await self.read(state), data, state, force=force)
            await self.keep(state)
            await self._bucket.put(_key(state), data)
        finally:
            await self._bucket.delete([_key(state) + LOCK_SUFFIX])

    async def keep(self, state: str) -> str | None:
        """A copy of the current state; None if it does not exist or is unchanged."""
        data = await self.read(state)
        if data is None:
            return None
        names = sorted(await self._names(state))
        newest = await self.read(state, names[-1]) if names else None
        if newest is not None and md5_of(newest) == md5_of(data):
            return None
        now = datetime.now(UTC)
        name = copies.name_of(data, now)
        await self._bucket.put(_copy(state, name), data)
        old = copies.outdated([*names, name], self._keep, now)
        await self._bucket.delete([_copy(state, each) for each in old])
        return name

    async def rollback(self, state: str, version: str) -> None:
        await write_older(self, state, version)

    async def unlock(self, state: str, lock_id: str | None, run: str = "") -> bool:  # noqa: ARG002  (no server binds requests to runs)
        held = await self._lock(state)
        if held is None:
            return False
        if lock_id not in {None, held.get("ID")}:
            raise held_error(state, held)
        await self._bucket.delete([_key(state) + LOCK_SUFFIX])
        return True

    async def retire(self, state: str) -> str:
        return f"kept unchanged at {self.place}/{_key(state)}"

    async def close(self) -> None:
        """Nothing to close."""

    async def _lock(self, state: str) -> dict[str, Any] | None:
        found = await self._bucket.get(_key(state) + LOCK_SUFFIX)
        return parse_lock(found[0], _key(state) + LOCK_SUFFIX) if found else None

    async def _take_lock(self, state: str) -> None:
        created = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        document = {"ID": str(uuid.uuid4()), "Who": self._who, "Created": created}
        document["Operation"] = "talops state"
        try:
            await self._bucket.swap(_key(state) + LOCK_SUFFIX, json.dumps(document).encode(), None)
        except ChangedError:
            raise held_error(state, await self._lock(state) or {}) from None

    async def _names(self, state: str) -> list[str]:
        found = await self._bucket.list(f"{BACKUPS}/{state}/")
        names = (key.rpartition("/")[2].removesuffix(copies.SUFFIX) for key, _ in found)
        return [name for name in names if copies.made_at(name)]


def _key(state: str) -> str:
    return f"{state}{copies.SUFFIX}"


def _copy(state: str, name: str) -> str:
    if copies.made_at(name) is None:
        raise TalopsError(
            f"{name!r} is not a version", where=state, hint=f"talops state versions {state}"
        )
    return f"{BACKUPS}/{state}/{name}{copies.SUFFIX}"
