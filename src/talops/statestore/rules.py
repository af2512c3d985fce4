"""Rules for lock, write and unlock: pure decisions, the same for every store.

PostgreSQL decides in its own statement; shared tests check it against the same table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.statestore.model import (
    AuditEntry,
    Draft,
    Head,
    Lock,
    Outcome,
    OutcomeKind,
    Retention,
    Version,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.statestore.model import Fence

# Clients retry for about a minute; sixteen later holders within that time are impossible.
REMEMBERED_RELEASES = 16
DAY = 86400.0


def lock(head: Head, wanted: Lock, now: float = 0.0, *, fenced: bool = False) -> Outcome:
    """`now` decides whether a lease has ended; `fenced` that the run of this request has lost."""
    held = head.lock
    if held is not None and held.id == wanted.id:
        same = not held.owner or held.owner == wanted.owner
        return Outcome(OutcomeKind.SAME if same else OutcomeKind.HELD, held, head.standing)
    if held is not None and not has_expired(held, now):
        return Outcome(OutcomeKind.HELD, held, head.standing)
    if wanted.id in head.released:
        # A repeated request that arrives after its own UNLOCK: no client waits for it.
        return Outcome(OutcomeKind.SPENT, None, head.standing)
    if fenced:
        return Outcome(OutcomeKind.FENCED, None, head.standing)
    return Outcome(OutcomeKind.DONE, wanted, head.standing)


def has_expired(held: Lock, now: float) -> bool:
    return bool(held.expires) and held.expires <= now


def hold(head: Head, wanted: Lock, now: float) -> Head:
    """After a lock was granted or renewed; the id of an expired one never works again."""
    before = head.lock
    released = head.released
    if before is not None and before.id != wanted.id:
        released = release(released, before.id)
    expires = now + wanted.lease if wanted.lease else 0.0
    held = Lock(wanted.id, wanted.info, wanted.owner, expires)
    return Head(held, released, head.number, head.current)


def unlock(
    head: Head, lock_id: str | None, by: str | None = None, *, fenced: bool = False
) -> Outcome:
    """`lock_id` None is the force-unlock of Terraform, which does not name a lock; `by` None a user
    who may remove the locks of others.
    """
    if head.lock is None or (lock_id is not None and lock_id in head.released):
        return Outcome(OutcomeKind.SAME, head.lock, head.standing)
    if lock_id is not None and lock_id != head.lock.id:
        return Outcome(OutcomeKind.HELD, head.lock, head.standing)
    if fenced:
        return Outcome(OutcomeKind.FENCED, head.lock, head.standing)
    if by is not None and head.lock.owner not in {"", by}:
        return Outcome(OutcomeKind.DENIED, head.lock, head.standing)
    return Outcome(OutcomeKind.DONE, head.lock, head.standing)


def write(head: Head, draft: Draft, *, fenced: bool = False) -> Outcome:
    current, standing = head.current, head.standing
    if current and (current.md5, current.lock_id) == (draft.md5, draft.lock_id):
        return Outcome(OutcomeKind.SAME, head.lock, standing)
    refused = OutcomeKind.FENCED if fenced else _without_lock(head, draft)
    if refused is None and current and not draft.force:
        refused = _no_successor(current, draft)
    if refused is not None:
        return Outcome(refused, head.lock, standing)
    return Outcome(OutcomeKind.DONE, head.lock, draft.standing(head.number + 1))


def _without_lock(head: Head, draft: Draft) -> OutcomeKind | None:
    held = head.lock.id if head.lock else ""
    if held != draft.lock_id:
        return OutcomeKind.HELD if held else OutcomeKind.LOST
    if head.lock and head.lock.owner not in {"", draft.actor.who}:
        return OutcomeKind.DENIED
    return None


def _no_successor(current: Version, draft: Draft) -> OutcomeKind | None:
    if current.lineage != draft.lineage:
        return OutcomeKind.FOREIGN
    return OutcomeKind.OLDER if draft.serial < current.serial else None


def is_fenced(fence: Fence | None, guard: Head) -> bool:
    """`guard` is the head of the state that the fence names."""
    return fence is not None and (guard.lock is None or guard.lock.id != fence.lock_id)


def locking(entry: AuditEntry, wanted: Lock, before: Lock | None) -> AuditEntry:
    """The audit entry of a granted lock."""
    action, detail = entry.action, f"lock {wanted.id}"
    if before is not None:
        action = "takeover"
        detail += f"; lock {before.id} of {before.owner or 'unknown user'} had expired"
    return AuditEntry(entry.at, entry.who, entry.origin, action, entry.state, detail)


def unlocking(entry: AuditEntry, held: Lock) -> AuditEntry:
    """The audit entry of a removed lock; a lock of another user is always removed by force."""
    action, detail = entry.action, f"lock {held.id}"
    if held.owner and held.owner != entry.who:
        action, detail = "force-unlock", f"{detail} of {held.owner}"
    return AuditEntry(entry.at, entry.who, entry.origin, action, entry.state, detail)


def delete(head: Head) -> Outcome:
    if head.lock is not None:
        return Outcome(OutcomeKind.HELD, head.lock, head.standing)
    return Outcome(OutcomeKind.DONE if head.current else OutcomeKind.SAME, None, head.standing)


def release(released: tuple[str, ...], lock_id: str) -> tuple[str, ...]:
    return (*released, lock_id)[-REMEMBERED_RELEASES:]


def expired(versions: Sequence[Version], keep: Retention, now: float) -> list[Version]:
    """The versions to remove; never the newest one."""
    ordered = sorted(versions, key=lambda v: v.number, reverse=True)
    return [
        version
        for place, version in enumerate(ordered)
        if place > 0
        and (
            (keep.count and place >= keep.count)
            or (keep.days and now - version.at > keep.days * DAY)
        )
    ]
