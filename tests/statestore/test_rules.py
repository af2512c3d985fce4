"""Who may lock, write and unlock, as tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.statestore.helpers import draft_of, lock_of, state_body

from talops.statestore import rules
from talops.statestore.model import Head, OutcomeKind, Retention

FIRST = draft_of(state_body(5), lock_id="a").numbered(1)
FREE = Head(number=1, current=FIRST)
HELD = replace(FREE, lock=lock_of("a"))
RELEASED = replace(FREE, released=("a",))


@pytest.mark.parametrize(
    ("head", "lock_id", "kind"),
    [
        (Head(), "a", OutcomeKind.DONE),
        (FREE, "b", OutcomeKind.DONE),
        (HELD, "a", OutcomeKind.SAME),
        (HELD, "b", OutcomeKind.HELD),
        (RELEASED, "a", OutcomeKind.SPENT),
        (RELEASED, "b", OutcomeKind.DONE),
    ],
)
def test_locking(head: Head, lock_id: str, kind: OutcomeKind) -> None:
    """A lock goes to the first who asks, and to them again when they re-send."""
    assert rules.lock(head, lock_of(lock_id)).kind is kind


@pytest.mark.parametrize(
    ("head", "lock_id", "kind"),
    [
        (Head(), "a", OutcomeKind.SAME),
        (HELD, "a", OutcomeKind.DONE),
        (HELD, "b", OutcomeKind.HELD),
        (HELD, None, OutcomeKind.DONE),
        (FREE, None, OutcomeKind.SAME),
        (RELEASED, "a", OutcomeKind.SAME),
        (replace(HELD, lock=lock_of("b"), released=("a",)), "a", OutcomeKind.SAME),
    ],
)
def test_unlocking(head: Head, lock_id: str | None, kind: OutcomeKind) -> None:
    """Only the holder unlocks; a re-sent UNLOCK never takes the next holder's lock."""
    assert rules.unlock(head, lock_id).kind is kind


@pytest.mark.parametrize(
    ("head", "sent", "lock_id", "force", "kind"),
    [
        (Head(), (1, "l"), "", False, OutcomeKind.DONE),
        (Head(), (1, "l"), "a", False, OutcomeKind.LOST),
        (HELD, (6, None), "a", False, OutcomeKind.DONE),
        (HELD, (5, None), "a", False, OutcomeKind.SAME),
        (HELD, (6, None), "", False, OutcomeKind.HELD),
        (HELD, (6, None), "b", False, OutcomeKind.HELD),
        (HELD, (6, None), "b", True, OutcomeKind.HELD),
        (FREE, (6, None), "b", False, OutcomeKind.LOST),
        (FREE, (5, None), "a", False, OutcomeKind.SAME),
        (HELD, (4, None), "a", False, OutcomeKind.OLDER),
        (HELD, (4, None), "a", True, OutcomeKind.DONE),
        (HELD, (6, "other"), "a", False, OutcomeKind.FOREIGN),
        (HELD, (6, "other"), "a", True, OutcomeKind.DONE),
        (FREE, (6, None), "", False, OutcomeKind.DONE),
    ],
)
def test_writing(
    head: Head, sent: tuple[int, str | None], lock_id: str, force: bool, kind: OutcomeKind
) -> None:
    """A write needs the lock that is held, a serial not lower, and the same lineage."""
    serial, lineage = sent
    body = state_body(serial, lineage=lineage) if lineage else state_body(serial)
    draft = draft_of(body, lock_id=lock_id, force=force)
    assert rules.write(head, draft).kind is kind


@pytest.mark.parametrize(
    ("head", "kind"),
    [(Head(), OutcomeKind.SAME), (FREE, OutcomeKind.DONE), (HELD, OutcomeKind.HELD)],
)
def test_deleting(head: Head, kind: OutcomeKind) -> None:
    """DELETE never carries a lock id, so it only works on an unlocked state."""
    assert rules.delete(head).kind is kind


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        (Retention(), [1, 2, 3, 4]),
        (Retention(count=2), [3, 4]),
        (Retention(count=1), [4]),
        (Retention(days=1.5), [3, 4]),
        (Retention(days=0.001), [4]),
        (Retention(count=3, days=1.5), [3, 4]),
    ],
)
def test_retention_never_takes_the_newest(keep: Retention, left: list[int]) -> None:
    """Versions go by count or by age, whichever is stricter; the newest stays."""
    versions = [replace(FIRST, number=n, at=n * rules.DAY) for n in (1, 2, 3, 4)]
    gone = {version.number for version in rules.expired(versions, keep, 4.2 * rules.DAY)}
    assert [v.number for v in versions if v.number not in gone] == left


def test_released_ids_are_bounded() -> None:
    """Of the released locks, the oldest are dropped first."""
    released: tuple[str, ...] = ()
    for number in range(40):
        released = rules.release(released, str(number))
    assert released == tuple(str(n) for n in range(40 - rules.REMEMBERED_RELEASES, 40))
