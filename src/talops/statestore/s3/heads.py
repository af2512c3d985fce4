"""Head objects: lock, history and latest audit entries of a state, replaced as a whole by ETag."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError, UnreachableError
from talops.statestore.model import AuditEntry, Head, Lock, Outcome, OutcomeKind, Version
from talops.statestore.rules import is_fenced
from talops.statestore.s3.bucket import ChangedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.statestore.model import Fence
    from talops.statestore.s3.bucket import Bucket
    from talops.statestore.s3.records import Records

FORMAT = 1
ATTEMPTS = 40
# A head contains entries that are not in the audit chain yet. Servers before it kept 200.
MOST_AUDIT = 400
PREFIX = "heads/"
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a head object; `versions` are in the order of their numbers.

    `touched` changes without a change of meaning: a client that decided by an older document has to
    decide again. `fenced` is not stored: the run of the request lost its lock.
    """

    head: Head = field(default_factory=Head)
    versions: tuple[Version, ...] = ()
    audit: tuple[AuditEntry, ...] = ()
    touched: int = 0
    fenced: bool = False

    def noting(self, entry: AuditEntry) -> Document:
        if len(self.audit) >= MOST_AUDIT:
            raise UnreachableError("the audit of this server cannot be written")
        return replace(self, audit=(*self.audit, entry))


class Heads:
    def __init__(self, bucket: Bucket, records: Records) -> None:
        self._bucket = bucket
        self._records = records

    async def load(self, state: str) -> tuple[Document, str | None]:
        """The document and its ETag; None if it does not exist yet."""
        found = await self._bucket.get(f"{PREFIX}{state}.json")
        if found is None:
            return Document(), None
        return _parse(found[0], state), found[1]

    async def swap(
        self,
        state: str,
        change: Callable[[Document], tuple[Outcome, Document | None]],
        fence: Fence | None = None,
    ) -> Outcome:
        """Decide, then replace the document; decide again if another client was faster.

        If the response of a replacement is lost, the next decision finds it done.
        """
        for attempt in range(ATTEMPTS):
            document, etag = await self.load(state)
            if fence:
                # After the document: `touch` makes sure that no run gets between the two.
                guarding, _ = await self.load(fence.state)
                document = replace(document, fenced=is_fenced(fence, guarding.head))
            document = replace(document, audit=self._records.waiting(document.audit))
            outcome, wanted = change(document)
            if wanted is None:
                return outcome
            try:
                await self._bucket.swap(f"{PREFIX}{state}.json", _render(wanted), etag)
            except ChangedError:
                # Full jitter, so that competing clients do not collide again.
                await asyncio.sleep(random.uniform(0, min(0.5, 0.01 * 2**attempt)))  # noqa: S311
                continue
            self._records.add(wanted.audit[len(document.audit) :])
            return outcome
        raise UnreachableError(f"too many clients change {state} at the same time")

    async def touch(self, project: str) -> None:
        """After another run got its lock: requests of the run before it decide again."""
        for name in await self.names():
            if name.startswith(f"{project}/"):
                await self.swap(
                    name, lambda d: (Outcome(OutcomeKind.DONE), replace(d, touched=d.touched + 1))
                )

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
        "lock": head.lock and _lock_document(head.lock),
        "released": head.released,
        "number": head.number,
        "current": head.current and head.current.number,
        "versions": [asdict(version) for version in document.versions],
        "audit": [asdict(entry) for entry in document.audit],
        "touched": document.touched,
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _lock_document(lock: Lock) -> dict[str, Any]:
    info = lock.info.decode()
    return {"id": lock.id, "info": info, "owner": lock.owner, "expires": lock.expires}


def _lock(document: dict[str, Any]) -> Lock:
    owner, expires = document.get("owner", ""), document.get("expires", 0.0)
    return Lock(document["id"], document["info"].encode(), owner, expires)


def _parse(data: bytes, state: str) -> Document:
    try:
        content = json.loads(data)
        versions = tuple(Version(**version) for version in content["versions"])
        lock = content["lock"]
        head = Head(
            _lock(lock) if lock else None,
            tuple(content["released"]),
            content["number"],
            next((v for v in versions if v.number == content["current"]), None),
        )
        audit = tuple(AuditEntry(**entry) for entry in content["audit"])
        return Document(head, versions, audit, content.get("touched", 0))
    except (ValueError, KeyError, TypeError) as error:
        raise TalopsError(
            "the head object of a state is damaged",
            where=f"{PREFIX}{state}.json",
            hint="restore it from the object versions of the bucket, or from a backup",
        ) from error
