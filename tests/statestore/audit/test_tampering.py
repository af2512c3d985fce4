"""`talops state audit verify` on every kind of store, after its audit was changed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest
from tests.statestore.audit.rewriting import rewrite
from tests.statestore.helpers import client_of, draft_of, lock_document, state_body

from talops.errors import TalopsError, UnreachableError
from talops.statestore.application import Application, Limits
from talops.statestore.audit import journal
from talops.statestore.audit.chain import Block, Mark, link
from talops.statestore.backends.audit import Witness, prove
from talops.statestore.encryption.keys import Keyring, MasterKey
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import OpenGuard
from talops.statestore.model import AuditEntry
from talops.statestore.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from talops.statestore.backends.http import HttpBackend
    from talops.statestore.store import Store
    from talops.statestore.stores import StoreAddress

STATE = "homelab/platform"
RING = Keyring([MasterKey(b"a" * 32)])
STRANGER = Keyring([MasterKey(b"b" * 32)])
WRITES = 6


class Reader:
    """What `prove` asks of a server, over the application itself."""

    root = "http://states.test"

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def blocks(self, after: int) -> dict[str, Any]:
        answer = await self._client.get(f"/-/audit/blocks?after={after}")
        if answer.is_error:
            raise TalopsError(answer.json()["error"])
        found: dict[str, Any] = answer.json()
        return found


async def problems(address: StoreAddress, witness: Witness, ring: Keyring | None) -> list[str]:
    """What a server that starts, or `verify` after that, says."""
    try:
        store = await open_store(address, ring)
    except TalopsError as error:
        return [error.what]
    application = Application(store, BodyCipher(ring), OpenGuard(), Limits())
    async with client_of(application) as client:
        backend = cast("HttpBackend", Reader(client))
        try:
            return list((await prove(backend, witness)).problems)
        except TalopsError as error:
            return [error.what]
        finally:
            await store.close()


def without_one(blocks: list[Block]) -> list[Block]:
    return [block for block in blocks if block.number != 3]


def with_other_words(blocks: list[Block]) -> list[Block]:
    changed = blocks[2].content.replace("alice", "carol")
    return [*blocks[:2], replace(blocks[2], content=changed), *blocks[3:]]


def with_other_words_and_hash(blocks: list[Block]) -> list[Block]:
    last, entries = blocks[1].mark, blocks[2].entries()
    return [*blocks[:2], link(last, entries[::-1] + entries, RING), *blocks[3:]]


def exchanged(blocks: list[Block]) -> list[Block]:
    """Two of them in the place of each other."""
    first, second = blocks[1], blocks[3]
    moved = {first.number: replace(second, number=first.number)}
    moved[second.number] = replace(first, number=second.number)
    return [moved.get(block.number, block) for block in blocks]


def cut(blocks: list[Block]) -> list[Block]:
    return blocks[:-2]


def emptied(blocks: list[Block]) -> list[Block]:
    return []


def rewritten(blocks: list[Block]) -> list[Block]:
    """As long as before, with right hashes, by a user without the key."""
    found: list[Block] = []
    for block in blocks:
        last = found[-1].mark if found else Mark()
        found.append(link(last, [replace(ENTRY, at=block.entries()[0].at)], STRANGER))
    return found


def extended(blocks: list[Block]) -> list[Block]:
    return [*blocks, link(blocks[-1].mark, [ENTRY], STRANGER)]


ENTRY = AuditEntry(0.0, "mallory", "", "read", STATE)
DAMAGES = [
    without_one,
    with_other_words,
    with_other_words_and_hash,
    exchanged,
    cut,
    emptied,
    rewritten,
    extended,
]


async def filled(address: StoreAddress, ring: Keyring | None) -> None:
    store = await open_store(address, ring)
    for serial in range(WRITES):
        await store.write(STATE, draft_of(state_body(serial + 1)))
        await store.flush_audit()
    await store.close()


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_every_damage_is_found(
    store_address: StoreAddress, tmp_path: Path, damage: Callable[[list[Block]], list[Block]]
) -> None:
    """Also by a user who changes the head beside the blocks, so that the server starts."""
    witness = Witness(tmp_path / "seen.json")
    await filled(store_address, RING)
    assert await problems(store_address, witness, RING) == []
    await rewrite(store_address, list)
    assert await problems(store_address, witness, RING) == [], "rewriting the same is no damage"
    await rewrite(store_address, damage)
    assert await problems(store_address, witness, RING)
    assert await problems(store_address, witness, RING), "and it stays found"


async def test_a_forged_chain_is_found_at_first_sight(
    store_address: StoreAddress, tmp_path: Path
) -> None:
    """A server with a key knows what it signed, even if nothing remembers the chain."""
    await filled(store_address, RING)
    await rewrite(store_address, rewritten)
    found = await problems(store_address, Witness(tmp_path / "seen.json"), RING)
    assert ["a key that the server does not have" in each for each in found] == [True]


@pytest.mark.parametrize("store_address", ["sqlite"], indirect=True)
@pytest.mark.parametrize("damage", DAMAGES[:-1], ids=lambda damage: damage.__name__)
async def test_without_a_key_only_an_addition_is_not_found(
    store_address: StoreAddress, tmp_path: Path, damage: Callable[[list[Block]], list[Block]]
) -> None:
    """The directory that remembers the end is then the only proof."""
    witness = Witness(tmp_path / "seen.json")
    await filled(store_address, None)
    assert await problems(store_address, witness, None) == []
    await rewrite(store_address, damage)
    assert await problems(store_address, witness, None)


async def _broken_audit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks cannot be written; whatever the store does besides works."""

    async def refuse(*_: Any, **__: Any) -> None:
        raise UnreachableError("the audit is full")

    records: Any = getattr(store, "_records", None)
    monkeypatch.setattr(records, "_append", refuse)


@pytest.mark.parametrize(
    "store_address",
    [pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgres", "s3")],
    indirect=True,
)
async def test_a_store_that_cannot_write_its_audit_refuses_changes(
    store_address: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries wait beside the change that they report; once they are overdue, no change is made."""
    store = await open_store(store_address)
    assert (await store.write(STATE, draft_of(state_body(1)))).accepted
    await store.flush_audit()
    with monkeypatch.context() as broken:
        await _broken_audit(store, broken)
        assert (await store.write(STATE, draft_of(state_body(2)))).accepted
        with pytest.raises(UnreachableError):
            await store.flush_audit()
        broken.setattr(journal, "OVERDUE_SECONDS", -1.0)
        entry = replace(ENTRY, action="lock")
        with pytest.raises(UnreachableError, match="audit"):
            await store.write(STATE, draft_of(state_body(3)))
        with pytest.raises(UnreachableError, match="audit"):
            await store.delete(STATE, draft_of(state_body(3)).actor, 0.0)
        from talops.statestore.lockinfo import parse_lock

        with pytest.raises(UnreachableError, match="audit"):
            await store.lock(STATE, parse_lock(json.dumps(lock_document("a")).encode()), entry)
        with pytest.raises(UnreachableError, match="audit"):
            store.note(ENTRY)
    await store.flush_audit()
    assert (await store.write(STATE, draft_of(state_body(3)))).accepted
    actions = [found.action for found in await store.audit(10)]
    await store.close()
    assert actions == ["write", "write", "write"], "nothing that was done is missing"
