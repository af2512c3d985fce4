"""Rules for lock, write and unlock: pure decisions, the same for every store.

PostgreSQL decides in its own statement; shared tests check it against the same table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.statestore.model import Draft, Head, Lock, Outcome, OutcomeKind, Retention, Version

if TYPE_CHECKING:
    from collections.abc import Sequence

# Clients retry for about a minute; sixteen later holders within that time are impossible.
REMEMBERED_RELEASES = 16
DAY = 86400.0


def lock(head: Head, wanted: Lock) -> Outcome:
    if head.lock is not None:
        same = head.lock.id == wanted.id
        return Outcome(OutcomeKind.SAME if same else OutcomeKind.HELD, head.lock, head.standing)
    if wanted.id in head.released:
        # A repeated request that arrives after its own UNLOCK: no client waits for it.
        return Outcome(OutcomeKind.SPENT, None, head.standing)
    return Outcome(OutcomeKind.DONE, wanted, head.standing)


def unlock(head: Head, lock_id: str | None) -> Outcome:
    """`None` is the force-unlock of Terraform, which does not name a lock."""
    if head.lock is None or (lock_id is not None and lock_id in head.released):
        return Outcome(OutcomeKind.SAME, head.lock, head.standing)
    if lock_id is not None and lock_id != head.lock.id:
        return Outcome(OutcomeKind.HELD, head.lock, head.standing)
    return Outcome(OutcomeKind.DONE, head.lock, head.standing)


def write(head: Head, draft: Draft) -> Outcome:
    current, standing = head.current, head.standing
    if current and (current.md5, current.lock_id) == (draft.md5, draft.lock_id):
        return Outcome(OutcomeKind.SAME, head.lock, standing)
    held = head.lock.id if head.lock else ""
    if held != draft.lock_id:
        return Outcome(OutcomeKind.HELD if held else OutcomeKind.LOST, head.lock, standing)
    if current and not draft.force:
        if current.lineage != draft.lineage:
            return Outcome(OutcomeKind.FOREIGN, head.lock, standing)
        if draft.serial < current.serial:
            return Outcome(OutcomeKind.OLDER, head.lock, standing)
    return Outcome(OutcomeKind.DONE, head.lock, draft.standing(head.number + 1))


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
