"""Who may lock, write and unlock, as tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.statestore.helpers import draft_of, lock_of, state_body

from talops.statestore import rules
from talops.statestore.model import Head, Retention, Verdict

FIRST = draft_of(state_body(5), lock_id="a").numbered(1)
FREE = Head(number=1, current=FIRST)
HELD = replace(FREE, lock=lock_of("a"))
RELEASED = replace(FREE, released=("a",))


@pytest.mark.parametrize(
    ("head", "lock_id", "verdict"),
    [
        (Head(), "a", Verdict.DONE),
        (FREE, "b", Verdict.DONE),
        (HELD, "a", Verdict.SAME),
        (HELD, "b", Verdict.HELD),
        (RELEASED, "a", Verdict.SPENT),
        (RELEASED, "b", Verdict.DONE),
    ],
)
def test_locking(head: Head, lock_id: str, verdict: Verdict) -> None:
    """A lock goes to the first who asks, and to them again when they re-send."""
    assert rules.lock(head, lock_of(lock_id)).verdict is verdict


@pytest.mark.parametrize(
    ("head", "lock_id", "verdict"),
    [
        (Head(), "a", Verdict.SAME),
        (HELD, "a", Verdict.DONE),
        (HELD, "b", Verdict.HELD),
        (HELD, None, Verdict.DONE),
        (FREE, None, Verdict.SAME),
        (RELEASED, "a", Verdict.SAME),
        (replace(HELD, lock=lock_of("b"), released=("a",)), "a", Verdict.SAME),
    ],
)
def test_unlocking(head: Head, lock_id: str | None, verdict: Verdict) -> None:
    """Only the holder unlocks; a re-sent UNLOCK never takes the next holder's lock."""
    assert rules.unlock(head, lock_id).verdict is verdict


@pytest.mark.parametrize(
    ("head", "sent", "lock_id", "force", "verdict"),
    [
        (Head(), (1, "l"), "", False, Verdict.DONE),
        (Head(), (1, "l"), "a", False, Verdict.LOST),
        (HELD, (6, None), "a", False, Verdict.DONE),
        (HELD, (5, None), "a", False, Verdict.SAME),
        (HELD, (6, None), "", False, Verdict.HELD),
        (HELD, (6, None), "b", False, Verdict.HELD),
        (HELD, (6, None), "b", True, Verdict.HELD),
        (FREE, (6, None), "b", False, Verdict.LOST),
        (FREE, (5, None), "a", False, Verdict.SAME),
        (HELD, (4, None), "a", False, Verdict.OLDER),
        (HELD, (4, None), "a", True, Verdict.DONE),
        (HELD, (6, "other"), "a", False, Verdict.FOREIGN),
        (HELD, (6, "other"), "a", True, Verdict.DONE),
        (FREE, (6, None), "", False, Verdict.DONE),
    ],
)
def test_writing(
    head: Head, sent: tuple[int, str | None], lock_id: str, force: bool, verdict: Verdict
) -> None:
    """A write needs the lock that is held, a serial not lower, and the same lineage."""
    serial, lineage = sent
    body = state_body(serial, lineage=lineage) if lineage else state_body(serial)
    draft = draft_of(body, lock_id=lock_id, force=force)
    assert rules.write(head, draft).verdict is verdict


@pytest.mark.parametrize(
    ("head", "verdict"), [(Head(), Verdict.SAME), (FREE, Verdict.DONE), (HELD, Verdict.HELD)]
)
def test_deleting(head: Head, verdict: Verdict) -> None:
    """DELETE never carries a lock id, so it only works on a state nobody holds."""
    assert rules.delete(head).verdict is verdict


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
    """The memory of given-back locks forgets the oldest first."""
    released: tuple[str, ...] = ()
    for number in range(40):
        released = rules.release(released, str(number))
    assert released == tuple(str(n) for n in range(40 - rules.REMEMBERED_RELEASES, 40))
