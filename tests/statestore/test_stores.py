"""One suite for every store: what it promises does not depend on what it is made of."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import (
    ACTOR,
    NOW,
    content_of,
    draft_of,
    lock_of,
    staged,
    state_body,
)
from tests.statestore.s3_server import s3

from talops.errors import PreflightError, TalopsError, UnreachableError
from talops.redaction import Secret
from talops.statestore.model import AuditEntry, OutcomeKind, Retention
from talops.statestore.stores import StoreAddress, open_store

if TYPE_CHECKING:
    from talops.statestore.store import Store

STATE = "homelab/platform"
DAY = 86400.0


async def test_an_unknown_state_is_absent(store: Store) -> None:
    """Nothing is there before the first write."""
    assert await store.read(STATE) is None
    assert await store.summary(STATE) is None
    assert await store.states() == []
    assert await store.versions(STATE) == []


async def test_a_write_is_read_back_byte_for_byte(store: Store) -> None:
    """What was written is what is read, with all its marks."""
    body = state_body(1)
    outcome = await store.write(STATE, draft_of(body))
    stored = await store.read(STATE)
    assert outcome.kind is OutcomeKind.DONE
    assert stored is not None
    assert replace(stored.version, blob="") == draft_of(body).numbered(1)
    assert await content_of(store, STATE) == body


async def test_a_large_body_travels_as_a_blob(store: Store) -> None:
    """A staged blob becomes the state only by the version that names it."""
    body = state_body(1, padding=3_000_000)
    blob = await staged(store, body)
    assert await store.read(STATE) is None
    await store.write(STATE, draft_of(body, blob=blob))
    assert await content_of(store, STATE) == body


async def test_another_server_reads_what_one_wrote(store_address: StoreAddress) -> None:
    """A large body comes back through a store that never saw it before."""
    body = state_body(1, padding=3_000_000)
    writer = await open_store(store_address)
    await writer.write(STATE, draft_of(body, blob=await staged(writer, body)))
    await writer.close()
    reader = await open_store(store_address)
    assert await content_of(reader, STATE) == body
    await reader.close()


async def test_an_aborted_upload_leaves_nothing(store: Store) -> None:
    """A client that disconnects during a write has written nothing."""
    staging = await store.stage()
    await staging.write(lambda: [b"half", b" of"])
    await staging.abort()
    assert await store.read(STATE) is None
    assert await store.sweep(NOW * 2) == 0


async def test_the_lock_is_checked_in_the_write(store: Store) -> None:
    """Only the holder of the lock writes, whatever happened since they took it."""
    await store.lock(STATE, lock_of("a"))
    assert (await store.write(STATE, draft_of(state_body(1), lock_id="a"))).accepted
    refused = await store.write(STATE, draft_of(state_body(2)))
    assert (refused.kind, refused.holder) == (OutcomeKind.HELD, lock_of("a"))
    await store.unlock(STATE, "a")
    late = await store.write(STATE, draft_of(state_body(2), lock_id="a"))
    assert late.kind is OutcomeKind.LOST
    assert await content_of(store, STATE) == state_body(1)


async def test_requests_may_arrive_twice(store: Store) -> None:
    """LOCK, write and UNLOCK re-sent change nothing and succeed again."""
    draft = draft_of(state_body(1), lock_id="a")
    kinds = [
        (await store.lock(STATE, lock_of("a"))).kind,
        (await store.lock(STATE, lock_of("a"))).kind,
        (await store.write(STATE, draft)).kind,
        (await store.write(STATE, draft)).kind,
        (await store.unlock(STATE, "a")).kind,
        (await store.unlock(STATE, "a")).kind,
        (await store.write(STATE, draft)).kind,
        (await store.lock(STATE, lock_of("a"))).kind,
    ]
    done, same = OutcomeKind.DONE, OutcomeKind.SAME
    assert kinds == [done, same, done, same, done, same, same, OutcomeKind.SPENT]
    assert len(await store.versions(STATE)) == 1


async def test_a_late_unlock_leaves_the_next_holder_alone(store: Store) -> None:
    """A re-sent UNLOCK arriving after another client locked succeeds and does nothing."""
    await store.lock(STATE, lock_of("a"))
    await store.unlock(STATE, "a")
    await store.lock(STATE, lock_of("b"))
    assert (await store.unlock(STATE, "a")).kind is OutcomeKind.SAME
    assert (await store.unlock(STATE, "x")).kind is OutcomeKind.HELD
    summary = await store.summary(STATE)
    assert summary is not None
    assert summary.lock == lock_of("b")


async def test_force_unlock_is_recorded(store: Store) -> None:
    """Taking a lock away leaves an entry with its id; taking nothing away leaves none."""
    entry = AuditEntry(NOW, "bob", "10.0.0.9", "force-unlock", STATE)
    await store.unlock(STATE, None, entry)
    await store.lock(STATE, lock_of("a"))
    assert (await store.unlock(STATE, None, entry)).kind is OutcomeKind.DONE
    (found,) = await store.audit(10)
    assert (found.who, found.action, found.state, found.detail) == (
        "bob",
        "force-unlock",
        STATE,
        "lock a",
    )


@pytest.mark.parametrize(
    ("serial", "lineage", "kind"), [(3, None, OutcomeKind.OLDER), (9, "other", OutcomeKind.FOREIGN)]
)
async def test_a_foreign_or_older_state_needs_force(
    store: Store, serial: int, lineage: str | None, kind: OutcomeKind
) -> None:
    """A serial that older serial or different lineage is refused, and recorded when forced."""
    await store.write(STATE, draft_of(state_body(4)))
    body = state_body(serial, lineage=lineage) if lineage else state_body(serial)
    refused = await store.write(STATE, draft_of(body))
    assert refused.kind is kind
    assert refused.current is not None
    assert refused.current.serial == 4
    assert (await store.write(STATE, draft_of(body, force=True))).kind is OutcomeKind.DONE
    assert [entry.action for entry in await store.audit(10)] == ["forced-write", "write"]


@pytest.mark.parametrize("padding", [0, 300_000])
async def test_rollback_serves_the_old_bytes(store: Store, padding: int) -> None:
    """A rollback is a new version with exactly the old bytes, and can itself be rolled back."""
    for serial in (1, 2):
        body = state_body(serial, padding=padding)
        blob = await staged(store, body) if padding else ""
        await store.write(STATE, draft_of(body, blob=blob))
    outcome = await store.rollback(STATE, 1, draft_of(state_body(0)))
    assert outcome.kind is OutcomeKind.DONE
    assert await content_of(store, STATE) == state_body(1, padding=padding)
    assert [v.number for v in await store.versions(STATE)] == [3, 2, 1]
    assert (await store.rollback(STATE, 77, draft_of(state_body(0)))).kind is OutcomeKind.ABSENT
    await store.lock(STATE, lock_of("a"))
    assert (await store.rollback(STATE, 2, draft_of(state_body(0)))).kind is OutcomeKind.HELD


async def test_a_deleted_state_keeps_its_history(store: Store) -> None:
    """DELETE makes a state absent; its versions stay, and rollback brings it back."""
    await store.write(STATE, draft_of(state_body(1)))
    await store.lock(STATE, lock_of("a"))
    assert (await store.delete(STATE, ACTOR, NOW)).kind is OutcomeKind.HELD
    await store.unlock(STATE, "a")
    assert (await store.delete(STATE, ACTOR, NOW)).kind is OutcomeKind.DONE
    assert (await store.delete(STATE, ACTOR, NOW)).kind is OutcomeKind.SAME
    assert await store.read(STATE) is None
    await store.rollback(STATE, 1, draft_of(state_body(0)))
    assert await content_of(store, STATE) == state_body(1)
    assert [v.number for v in await store.versions(STATE)] == [2, 1]


async def test_retention_keeps_blobs_that_are_still_named(store: Store) -> None:
    """Pruning removes old versions and their blobs, but never one a newer version shares."""
    for serial in (1, 2, 3):
        body = state_body(serial, padding=200_000)
        await store.write(STATE, draft_of(body, blob=await staged(store, body), at=NOW))
    await store.rollback(STATE, 1, draft_of(state_body(0)))
    assert await store.prune(STATE, Retention(count=2), NOW) == 2
    assert [v.number for v in await store.versions(STATE)] == [4, 3]
    assert await content_of(store, STATE) == state_body(1, padding=200_000)
    assert await store.prune(STATE, Retention(days=1), NOW + 9 * DAY) == 1
    assert await content_of(store, STATE) == state_body(1, padding=200_000)


async def test_the_sweep_takes_only_old_orphans(store: Store) -> None:
    """A blob without a reference is removed after a while; a named one and a fresh one stay."""
    import time

    body = state_body(1, padding=200_000)
    await store.write(STATE, draft_of(body, blob=await staged(store, body)))
    await staged(store, b"an upload whose client vanished")
    assert await store.sweep(time.time()) == 0
    assert await store.sweep(time.time() + 2 * DAY) == 1
    assert await content_of(store, STATE) == body


async def test_states_are_listed_with_holder_and_newest_version(store: Store) -> None:
    """A listing shows every state: locked, written, or both."""
    await store.lock("a/locked", lock_of("x"))
    await store.write("b/written", draft_of(state_body(7)))
    found = [
        (s.name, s.lock.id if s.lock else None, s.current.serial if s.current else None)
        for s in await store.states()
    ]
    assert found == [("a/locked", "x", None), ("b/written", None, 7)]


async def test_a_data_key_can_be_wrapped_again(store: Store) -> None:
    """Key rotation changes the wrapped key of a version and nothing else."""
    await store.write(STATE, draft_of(state_body(1)))
    await store.rewrap(STATE, 1, "new:key")
    stored = await store.read(STATE)
    assert stored is not None
    assert stored.version.sealed_key == "new:key"
    assert await content_of(store, STATE) == state_body(1)


async def test_one_of_many_gets_the_lock_and_all_others_learn_who(store: Store) -> None:
    """Sixteen at once: one holder, fifteen refusals that carry that holder."""
    outcomes = await asyncio.gather(*(store.lock(STATE, lock_of(f"id-{n}")) for n in range(16)))
    counted = Counter(outcome.kind for outcome in outcomes)
    holder = next(o.holder for o in outcomes if o.kind is OutcomeKind.DONE)
    assert counted == {OutcomeKind.DONE: 1, OutcomeKind.HELD: 15}
    assert all(outcome.holder == holder for outcome in outcomes)


async def test_concurrent_writers_lose_nothing(store: Store) -> None:
    """Every accepted write is one version; the numbers have no gap and no double."""
    outcomes = await asyncio.gather(
        *(store.write(STATE, draft_of(state_body(5, padding=n))) for n in range(6, 86, 6))
    )
    accepted = [outcome for outcome in outcomes if outcome.kind is OutcomeKind.DONE]
    numbers = [version.number for version in await store.versions(STATE)]
    assert len(accepted) == len(outcomes)
    assert numbers == list(range(len(outcomes), 0, -1))


async def test_a_healthy_store_says_so(store: Store) -> None:
    """check() is quiet while the store can serve."""
    await store.check()


@pytest.mark.slow
async def test_a_store_that_ignores_conditions_is_refused() -> None:
    """A lying S3 store would let two clients hold one lock: the server does not start on it."""
    with s3(lying=True) as server:
        address = StoreAddress(Secret(f"s3://{server.new_bucket()}/team"), server.options)
        with pytest.raises(PreflightError, match="conditional writes"):
            await open_store(address)


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("ftp://x", TalopsError, "unknown store type"),
        ("sqlite:", TalopsError, "unknown store type"),
        ("postgres://talops@127.0.0.1:1/x", UnreachableError, "does not answer"),
    ],
)
async def test_addresses_of_stores_that_are_none(
    url: str, error: type[TalopsError], words: str
) -> None:
    """A store that cannot be opened is an error at start, in words."""
    with pytest.raises(error, match=words):
        await open_store(StoreAddress(Secret(url)))
