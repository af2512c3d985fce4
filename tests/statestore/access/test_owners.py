"""Locks with owners, leases and fences: the same decisions in every store."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.statestore.helpers import ACTOR, NOW, draft_of, lock_of, state_body

from talops.statestore.model import Actor, AuditEntry, Fence, Lock, Outcome, OutcomeKind
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.statestore.store import Store

STATE, RUN = "homelab/platform", "homelab/demo.run"
BOB = Actor("bob", "10.0.0.9")
# Leases end by the store's own clock: one that has ended already, and one that does not end here.
ENDED, LASTING = 0.001, 600.0


def alices(lock_id: str, lease: float = 0.0) -> Lock:
    return replace(lock_of(lock_id), owner="alice", lease=lease)


def bobs(lock_id: str, lease: float = 0.0) -> Lock:
    return replace(lock_of(lock_id, "bob@ci"), owner="bob", lease=lease)


async def taken(store: Store, wanted: Lock, note: AuditEntry | None = None) -> Outcome:
    """A lock whose lease ends about now: asked for until it has ended."""

    async def probe() -> Ready[Outcome] | NotYet:
        outcome = await store.lock(RUN, wanted, note)
        return NotYet("held") if outcome.kind is OutcomeKind.HELD else Ready(outcome)

    return await wait_for("the end of a lease", probe, timeout=30, interval=0.001)


def entry(who: str, action: str = "lock") -> AuditEntry:
    return AuditEntry(NOW, who, "10.0.0.9", action, STATE)


async def test_only_the_owner_writes_and_unlocks(store: Store) -> None:
    """The id alone is worth nothing; the owner, or the right to force, is."""
    await store.lock(STATE, alices("a"))
    foreign = await store.write(STATE, replace(draft_of(state_body(1), lock_id="a"), actor=BOB))
    kinds = [
        foreign.kind,
        (await store.lock(STATE, bobs("a"))).kind,
        (await store.unlock(STATE, "a", entry("bob", "unlock"), "bob")).kind,
        (await store.unlock(STATE, None, entry("bob", "force-unlock"), "bob")).kind,
        (await store.write(STATE, draft_of(state_body(1), lock_id="a"))).kind,
        (await store.unlock(STATE, "a", entry("bob", "unlock"))).kind,
    ]
    denied, done = OutcomeKind.DENIED, OutcomeKind.DONE
    assert kinds == [denied, OutcomeKind.HELD, denied, denied, done, done]
    newest, *_ = await store.audit(10)
    assert (newest.who, newest.action, newest.detail) == ("bob", "force-unlock", "lock a of alice")


async def test_locks_of_older_servers_have_no_owner(store: Store) -> None:
    """They work as before, for every client with the id."""
    await store.lock(STATE, lock_of("old"))
    written = await store.write(STATE, replace(draft_of(state_body(1), lock_id="old"), actor=BOB))
    assert written.kind is OutcomeKind.DONE
    assert (await store.unlock(STATE, "old", None, "bob")).kind is OutcomeKind.DONE


async def test_a_lease_ends_unless_it_is_renewed(store: Store) -> None:
    """Only after its end does the next one get it; the first id never works again."""
    await store.lock(RUN, alices("a", LASTING))
    assert (await store.lock(RUN, bobs("b", LASTING))).kind is OutcomeKind.HELD
    assert (await store.lock(RUN, alices("a", ENDED))).kind is OutcomeKind.SAME, "a renewal"
    assert (await taken(store, bobs("b", LASTING), entry("bob"))).kind is OutcomeKind.DONE
    assert (await store.lock(RUN, alices("a", LASTING))).kind is OutcomeKind.HELD
    assert (await store.unlock(RUN, "a", None, "alice")).kind is OutcomeKind.SAME
    summary = await store.summary(RUN)
    assert summary is not None
    assert summary.lock is not None
    assert (summary.lock.id, summary.lock.owner) == ("b", "bob")
    await store.unlock(RUN, "b", None, "bob")
    assert (await store.lock(RUN, alices("a", LASTING))).kind is OutcomeKind.SPENT
    newest, *_ = await store.audit(10)
    assert newest.action == "takeover"
    assert newest.detail == "lock b; lock a of alice had expired"


async def test_a_renewal_is_not_recorded(store: Store) -> None:
    """One entry per lock, however often its lease is renewed."""
    for _ in range(5):
        await store.lock(RUN, alices("a", LASTING), entry("alice"))
    assert [found.action for found in await store.audit(10)] == ["lock"]


async def test_an_ended_lease_that_was_not_taken_is_still_held(store: Store) -> None:
    """A run that was away returns to its lock if no other run came meanwhile."""
    await store.lock(RUN, alices("a", ENDED))
    await store.lock(STATE, alices("s"))
    assert (await store.lock(RUN, alices("a", LASTING))).kind is OutcomeKind.SAME
    assert (await store.lock(RUN, bobs("b", LASTING))).kind is OutcomeKind.HELD


async def taken_or_held(store: Store, lock_id: str) -> Outcome:
    """Until the lease of a has ended."""

    async def probe() -> Ready[Outcome] | NotYet:
        outcome = await store.lock(RUN, bobs(lock_id, LASTING))
        waits = outcome.holder is not None and outcome.holder.id == "a"
        return NotYet("held by a") if waits else Ready(outcome)

    return await wait_for("the end of a lease", probe, timeout=30, interval=0.001)


async def test_one_of_many_takes_an_ended_lease(store: Store) -> None:
    """Sixteen at once: one gets it, all others see that one."""
    await store.lock(RUN, alices("a", ENDED))
    outcomes = await asyncio.gather(*(taken_or_held(store, f"b{n}") for n in range(16)))
    winners = [o.holder.id for o in outcomes if o.kind is OutcomeKind.DONE and o.holder]
    others = {o.holder.id for o in outcomes if o.kind is OutcomeKind.HELD and o.holder}
    assert len(winners) == 1
    assert others == set(winners)


async def test_a_run_without_its_lock_changes_no_state(store: Store) -> None:
    """Its locks, writes and rollbacks of every state are refused as soon as another run began."""
    fence = Fence(RUN, "a")
    await store.lock(RUN, alices("a", ENDED))
    await store.lock(STATE, alices("s"), fence=fence)
    first = await store.write(STATE, replace(draft_of(state_body(1), lock_id="s"), fence=fence))
    assert first.kind is OutcomeKind.DONE, "an ended lease is held until it is taken"
    await taken(store, bobs("b", LASTING))
    late = replace(draft_of(state_body(2), lock_id="s"), fence=fence)
    rollback = replace(draft_of(state_body(0), lock_id="s", force=True), fence=fence)
    kinds = [
        (await store.write(STATE, late)).kind,
        (await store.rollback(STATE, 1, replace(rollback, md5="other"))).kind,
        (await store.lock("homelab/other", alices("o"), fence=fence)).kind,
        (await store.unlock(STATE, "s", None, None, fence)).kind,
    ]
    # The rollback names the version that is the newest one: already done, so nothing changes.
    fenced = OutcomeKind.FENCED
    assert kinds == [fenced, OutcomeKind.SAME, fenced, fenced]
    assert len(await store.versions(STATE)) == 1
    assert (await store.unlock(STATE, "s", None, ACTOR.who)).kind is OutcomeKind.DONE
    successor = replace(draft_of(state_body(2), lock_id="t"), actor=BOB, fence=Fence(RUN, "b"))
    await store.lock(STATE, bobs("t"), fence=Fence(RUN, "b"))
    assert (await store.write(STATE, successor)).kind is OutcomeKind.DONE
