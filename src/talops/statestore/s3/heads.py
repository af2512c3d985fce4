"""Head objects: lock, history and audit of one state, replaced as a whole by ETag."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError, UnreachableError
from talops.statestore.model import AuditEntry, Head, Lock, Outcome, Version
from talops.statestore.s3.bucket import ChangedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.statestore.s3.bucket import Bucket

FORMAT = 1
ATTEMPTS = 40
KEPT_AUDIT = 200
PREFIX = "heads/"
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a head object; `versions` are in the order of their numbers."""

    head: Head = field(default_factory=Head)
    versions: tuple[Version, ...] = ()
    audit: tuple[AuditEntry, ...] = ()

    def noting(self, entry: AuditEntry) -> Document:
        return replace(self, audit=(*self.audit, entry)[-KEPT_AUDIT:])


class Heads:
    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def load(self, state: str) -> tuple[Document, str | None]:
        """The document and its ETag; None if it does not exist yet."""
        found = await self._bucket.get(f"{PREFIX}{state}.json")
        if found is None:
            return Document(), None
        return _parse(found[0], state), found[1]

    async def swap(
        self, state: str, change: Callable[[Document], tuple[Outcome, Document | None]]
    ) -> Outcome:
        """Decide, then replace the document; decide again if another client was faster.

        If the response of a replacement is lost, the next decision finds it done.
        """
        for attempt in range(ATTEMPTS):
            document, etag = await self.load(state)
            outcome, wanted = change(document)
            if wanted is None:
                return outcome
            try:
                await self._bucket.swap(f"{PREFIX}{state}.json", _render(wanted), etag)
            except ChangedError:
                # Full jitter, so that competing clients do not collide again.
                await asyncio.sleep(random.uniform(0, min(0.5, 0.01 * 2**attempt)))  # noqa: S311
                continue
            return outcome
        raise UnreachableError(f"too many clients change {state} at the same time")

    async def names(self) -> list[str]:
        found = await self._bucket.list(PREFIX)
        return sorted(name.removeprefix(PREFIX).removesuffix(".json") for name, _ in found)

    async def all(self) -> list[tuple[str, Document]]:
        limit = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str) -> tuple[str, Document]:
            async with limit:
                return name, (await self.load(name))[0]

        return list(await asyncio.gather(*(one(name) for name in await self.names())))


def _render(document: Document) -> bytes:
    head = document.head
    content: dict[str, Any] = {
        "format": FORMAT,
        "lock": head.lock and {"id": head.lock.id, "info": head.lock.info.decode()},
        "released": head.released,
        "number": head.number,
        "current": head.current and head.current.number,
        "versions": [asdict(version) for version in document.versions],
        "audit": [asdict(entry) for entry in document.audit],
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _parse(data: bytes, state: str) -> Document:
    try:
        content = json.loads(data)
        versions = tuple(Version(**version) for version in content["versions"])
        lock = content["lock"]
        head = Head(
            Lock(lock["id"], lock["info"].encode()) if lock else None,
            tuple(content["released"]),
            content["number"],
            next((v for v in versions if v.number == content["current"]), None),
        )
        return Document(head, versions, tuple(AuditEntry(**entry) for entry in content["audit"]))
    except (ValueError, KeyError, TypeError) as error:
        raise TalopsError(
            "the head object of a state is damaged",
            where=f"{PREFIX}{state}.json",
            hint="restore it from the object versions of the bucket, or from a backup",
        ) from error
