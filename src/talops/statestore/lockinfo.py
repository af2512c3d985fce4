"""The fields of the LockInfo document of both tools that the server uses."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from talops.errors import TalopsError
from talops.statestore.model import Fence, Lock
from talops.statestore.paths import is_name

LIMIT = 64 * 1024
_ID_LIMIT = 256
LONGEST_LEASE = 3600


class BadLockError(TalopsError):
    pass


@dataclass(frozen=True, slots=True)
class UnlockRequest:
    """`lock_id` None: any held lock. `forced`: sent by a client that did not hold the lock."""

    lock_id: str | None
    forced: bool


def parse_lock(body: bytes, owner: str = "") -> Lock:
    document = _document(body)
    lock_id = _lock_id(document)
    if not lock_id:
        raise BadLockError(
            'a lock requires a LockInfo document with a non-empty "ID"',
            hint="tofu and terraform send one automatically",
        )
    return Lock(lock_id, body, owner, lease=_lease(document))


def lock_info(lock_id: str, who: str, operation: str) -> bytes:
    """The document of a lock that the server itself holds."""
    created = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    document = {"ID": lock_id, "Operation": operation, "Who": who, "Created": created}
    return json.dumps(document).encode()


def parse_fence(text: str, state: str) -> Fence | None:
    """`?run=NAME:ID`: the request is only valid while the run holds its lock in this project."""
    if not text:
        return None
    name, _, lock_id = text.partition(":")
    guarding = f"{state.partition('/')[0]}/{name}"
    if not is_name(guarding) or not lock_id:
        raise BadLockError("run= must be the name and the id of a lock, like demo.run:ID")
    return Fence(guarding, given_lock_id(lock_id))


def of_run(lock: Lock, fence: Fence | None) -> Lock:
    """The lock with its run: it is stale as soon as that run does not hold its run lock."""
    if fence is None:
        return lock
    document = {**_document(lock.info), "Run": fence.lock_id}
    return replace(lock, info=json.dumps(document).encode())


def parse_unlock(body: bytes) -> UnlockRequest:
    """Terraform forces with an empty body, OpenTofu with a document that contains only an ID."""
    if not body.strip():
        return UnlockRequest(None, forced=True)
    document = _document(body)
    lock_id = _lock_id(document)
    holder = any(document.get(key) for key in ("Operation", "Who"))
    return UnlockRequest(lock_id or None, forced=not (lock_id and holder))


def describe(lock: Lock) -> dict[str, Any]:
    """The document of the holder, for display; an unreadable lock still shows its id."""
    try:
        found = json.loads(lock.info, parse_constant=_refused)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"ID": lock.id}


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body.decode(), parse_constant=_refused)
        json.dumps(document, ensure_ascii=False).encode()  # half characters cannot be sent again
    except (ValueError, RecursionError):
        raise BadLockError("the lock is not a JSON document") from None
    if not isinstance(document, dict):
        raise BadLockError("the lock is not a JSON object")
    return document


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def given_lock_id(text: str) -> str:
    """The lock id of a write; empty if it has none."""
    # Space separates remembered ids in a store, and not every store can contain a NUL.
    if len(text) > _ID_LIMIT or " " in text or not text.isprintable():
        raise BadLockError(
            f"the lock id must be one printable word of at most {_ID_LIMIT} characters"
        )
    return text


def _lease(document: dict[str, Any]) -> float:
    """Seconds after which the lock ends unless it is renewed (0 = forever)."""
    lease = document.get("Lease", 0)
    if isinstance(lease, bool) or not isinstance(lease, int | float) or lease < 0:
        raise BadLockError('the "Lease" of a lock is a number of seconds')
    if lease > LONGEST_LEASE:
        raise BadLockError(f'the "Lease" of a lock is at most {LONGEST_LEASE} seconds')
    return float(lease)


def _lock_id(document: dict[str, Any]) -> str:
    lock_id = document.get("ID", "")
    if not isinstance(lock_id, str):
        raise BadLockError('the "ID" of a lock must be a string')
    return given_lock_id(lock_id)
