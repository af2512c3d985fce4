"""The audit chain: what happened is in it, and what is taken out or changed shows."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.statestore.access.people import login, person, save
from tests.statestore.helpers import (
    ACTOR,
    NOW,
    client_of,
    draft_of,
    lock_document,
    lock_of,
    md5_header,
    state_body,
)

from talops.errors import ConflictError, UnreachableError
from talops.statestore.application import Application, Limits
from talops.statestore.audit import journal as journals
from talops.statestore.audit.chain import Block, Mark, Verifier, link
from talops.statestore.audit.journal import Journal
from talops.statestore.encryption.keys import Keyring, MasterKey
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import Guard, OpenGuard
from talops.statestore.model import AuditEntry
from talops.statestore.postgres.store import PostgresStore
from talops.statestore.sqlite import SqliteStore
from talops.statestore.stores import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from talops.statestore.store import Store
    from talops.statestore.stores import StoreAddress

STATE = "homelab/platform"
RING = Keyring([MasterKey(b"a" * 32)])
OTHER = Keyring([MasterKey(b"b" * 32)])


def entry(number: int, action: str = "read") -> AuditEntry:
    return AuditEntry(NOW + number, "alice", "10.0.0.1", action, STATE, f"version {number}")


def chain_of(length: int, signer: Keyring | None = RING) -> list[Block]:
    blocks: list[Block] = []
    for number in range(length):
        last = blocks[-1].mark if blocks else Mark()
        blocks.append(link(last, [entry(2 * number), entry(2 * number + 1)], signer))
    return blocks


def problems(blocks: list[Block], *seen: Mark, signer: Keyring | None = None) -> list[str]:
    verifier = Verifier(signer=signer)
    for mark in seen:
        verifier.remember(mark)
    verifier.read(blocks)
    return verifier.end()


def test_an_intact_chain_has_no_problems() -> None:
    """Also with its signatures, and with every end that was seen before."""
    blocks = chain_of(9)
    assert problems(blocks, blocks[3].mark, blocks[8].mark, signer=RING) == []


def test_the_end_may_be_named_after_it_was_read() -> None:
    """As the last, empty page of a server does; another end with the same number is a problem."""
    blocks, verifier = chain_of(3), Verifier()
    verifier.read(blocks)
    verifier.remember(blocks[-1].mark)
    assert verifier.end() == []
    verifier.remember(Mark(3, "f" * 64))
    assert "not the end" in verifier.end()[0]


@pytest.mark.parametrize("seed", range(40))
def test_no_damage_goes_unnoticed(seed: int) -> None:
    """Removed, changed, exchanged, inserted or cut off anywhere: at least one problem."""
    rng, blocks = random.Random(seed), chain_of(12)
    end = blocks[-1].mark
    place = rng.randrange(11)
    damage = ["remove", "change", "exchange", "cut", "replay", "rewrite", "relink"][seed % 7]
    if damage == "remove":
        del blocks[place]
    elif damage == "change":
        text = blocks[place].content.replace("alice", "mallo")
        blocks[place] = replace(blocks[place], content=text)
    elif damage == "exchange":
        blocks[place], blocks[place + 1] = blocks[place + 1], blocks[place]
    elif damage == "cut":
        del blocks[place + 1 :]
    elif damage == "replay":
        blocks.insert(place + 1, blocks[place])
    elif damage == "rewrite":  # the whole rest, with right hashes, by someone without the key
        rest = [link(blocks[place].mark, [entry(99)], None)]
        while len(rest) < 11 - place:
            rest.append(link(rest[-1].mark, [entry(99)], None))
        blocks[place + 1 :] = rest
    else:
        block = blocks[place]
        blocks[place] = link(Mark(block.number - 1, block.previous), [entry(7)], OTHER)
    assert problems(blocks, end)


def test_a_rewritten_chain_is_not_signed_with_the_key() -> None:
    """Right hashes from the first block on, but another key, or none in the middle."""
    assert problems(chain_of(3, OTHER), signer=RING) == [], "unknown keys prove nothing"
    forged = [replace(b, signature=f"{RING.current.id}:00") for b in chain_of(3)]
    assert len(problems(forged, signer=RING)) == 3
    signed = chain_of(2)
    unsigned = link(signed[-1].mark, [entry(9)], None)
    assert "not signed" in problems([*signed, unsigned])[0]


async def test_every_change_is_in_the_chain(store: Store) -> None:
    """Lock, write, rollback, unlock, deletion and retention, each once, in a chain that holds."""
    await store.lock(STATE, lock_of("a"), replace(entry(0, "lock"), detail=""))
    await store.write(STATE, draft_of(state_body(1), lock_id="a"))
    await store.write(STATE, draft_of(state_body(2), lock_id="a"))
    await store.rollback(STATE, 1, draft_of(state_body(0), lock_id="a"))
    await store.unlock(STATE, "a", entry(0, "unlock"))
    await store.delete(STATE, ACTOR, NOW)
    store.note(entry(1))
    blocks, head = await store.blocks(0, 100)
    assert problems(blocks, head) == []
    assert sorted(found.action for block in blocks for found in block.entries()) == sorted(
        ["lock", "write", "write", "rollback", "unlock", "delete", "read"]
    )
    assert (await store.blocks(head.number, 100))[0] == []


async def test_the_chain_goes_on_after_a_restart(store_address: StoreAddress) -> None:
    """A server that starts again continues where it stopped, signed with its key."""
    for round_ in range(3):
        opened = await open_store(store_address, RING)
        await opened.write(STATE, draft_of(state_body(round_ + 1)))
        await opened.close()
    opened = await open_store(store_address, RING)
    blocks, head = await opened.blocks(0, 100)
    await opened.close()
    assert problems(blocks, head, signer=RING) == []
    assert [b.number for b in blocks] == list(range(1, len(blocks) + 1))
    assert [e.action for b in blocks for e in b.entries()] == ["write"] * 3


@pytest.mark.parametrize(
    "store_address",
    [pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgres", "s3")],
    indirect=True,
)
async def test_replicas_share_one_chain(store_address: StoreAddress) -> None:
    """Three servers that append at once: no fork, no gap, no entry twice, none lost."""
    replicas = [await open_store(store_address) for _ in range(3)]

    async def work(number: int, replica: Store) -> None:
        for turn in range(8):
            await replica.write(f"p/s{number}", draft_of(state_body(turn + 1)))
            replica.note(replace(entry(turn), state=f"p/s{number}"))
            await replica.flush_audit()

    await asyncio.gather(*(work(n, replica) for n, replica in enumerate(replicas)))
    blocks, head = await replicas[0].blocks(0, 500)
    for replica in replicas:
        await replica.close()
    assert problems(blocks, head) == []
    found = [(e.state, e.action, e.detail) for b in blocks for e in b.entries()]
    assert len(found) == len(set(found)) == 3 * 8 * 2


@pytest.mark.parametrize(
    "store_address",
    [pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgres", "s3")],
    indirect=True,
)
async def test_entries_of_a_killed_replica_are_not_lost(
    store_address: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change and its entry are one; another server moves what the killed one left."""
    from talops.statestore.s3 import records

    monkeypatch.setattr(records, "LEFT_SECONDS", -1e12)
    killed = await open_store(store_address)
    await killed.write(STATE, draft_of(state_body(1)))
    _cut_off(killed)
    other = await open_store(store_address)
    await other.sweep(NOW)
    found = await other.audit(10)
    await other.close()
    assert [each.action for each in found] == ["write"]


def _cut_off(store: Store) -> None:
    """Its connections end as those of a killed process; it flushes and closes nothing."""
    if isinstance(store, PostgresStore):
        for pool in (store._pool, store._lazy_pool):
            pool.terminate()


async def test_a_store_that_cannot_write_its_audit_refuses_writes(tmp_path: Path) -> None:
    """The change and its entry are one commit: neither happens without the other."""
    store = SqliteStore(tmp_path)
    with sqlite3.connect(tmp_path / "states.db") as database:
        database.execute(
            "CREATE TRIGGER no_audit BEFORE INSERT ON audit_block "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    for change in (
        store.write(STATE, draft_of(state_body(1))),
        store.lock(STATE, lock_of("a"), entry(0, "lock")),
    ):
        with pytest.raises(UnreachableError):
            await change
    assert await store.read(STATE) is None
    with sqlite3.connect(tmp_path / "states.db") as database:
        database.execute("DROP TRIGGER no_audit")
    assert (await store.write(STATE, draft_of(state_body(1)))).accepted
    await store.close()


def test_reads_are_refused_once_the_audit_is_overdue() -> None:
    """Entries are kept for a while, in order, and never dropped."""
    now = [0.0]
    journal = Journal(lambda: now[0])
    journal.note(entry(1))
    journal.put_back(journal.take())
    now[0] = journals.OVERDUE_SECONDS - 1
    journal.note(entry(2))
    now[0] += 2
    with pytest.raises(UnreachableError, match="audit"):
        journal.note(entry(3))
    assert [e.detail for e in journal.take()] == ["version 1", "version 2"]
    journal.written()
    journal.note(entry(4))


def test_a_journal_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads cannot fill the memory of a server whose disk is full."""
    monkeypatch.setattr(journals, "MOST", 3)
    journal = Journal()
    for number in range(3):
        journal.note(entry(number))
    with pytest.raises(UnreachableError):
        journal.note(entry(4))


async def test_a_cut_chain_stops_the_server(tmp_path: Path) -> None:
    """A removal of the last blocks, but not of the head beside them, is noticed at the start."""
    store = SqliteStore(tmp_path)
    for serial in (1, 2, 3):
        await store.write(STATE, draft_of(state_body(serial)))
    await store.close()
    with sqlite3.connect(tmp_path / "states.db") as database:
        database.execute("DELETE FROM audit_block WHERE number = 3")
    with pytest.raises(ConflictError, match="ends with block 2, but block 3"):
        SqliteStore(tmp_path)


async def test_entries_of_older_servers_become_the_first_block(tmp_path: Path) -> None:
    """A database of schema 1 opens: its locks keep working, its audit is in the chain."""
    (tmp_path / "states.db").touch(mode=0o600)
    with sqlite3.connect(tmp_path / "states.db") as database:
        database.executescript(SCHEMA_1)
        database.execute("INSERT INTO audit VALUES (1, 5.0, 'bob', 'x', 'force-unlock', 'a/b', '')")
        database.execute("INSERT INTO state (name, lock_id, lock_info) VALUES ('a/b', 'l', '{}')")
        database.execute("PRAGMA user_version = 1")
    store = SqliteStore(tmp_path)
    (held,) = await store.states()
    assert held.lock is not None
    assert (held.lock.id, held.lock.owner) == ("l", "")
    assert [e.action for e in await store.audit(9)] == ["force-unlock"]
    assert (await store.unlock("a/b", "l", entry(1, "unlock"), "bob")).accepted
    await store.close()
    again = SqliteStore(tmp_path)
    blocks, head = await again.blocks(0, 10)
    await again.close()
    assert problems(blocks, head) == []
    assert [e.action for b in blocks for e in b.entries()] == ["force-unlock", "unlock"]


async def test_logins_reads_and_refusals_over_http(tmp_path: Path) -> None:
    """Who came, from where, what they read, and what they were refused."""
    book = save(tmp_path / "users.json", person("alice"), person("bob", write=("work/*",)))
    store = SqliteStore(tmp_path / "states")
    application = Application(store, BodyCipher(None), Guard(book), Limits())
    async with client_of(application) as client:
        body = state_body(1)
        path = f"/{STATE}"
        await client.get(path, auth=("alice", "geheim"))
        await client.get(path, auth=("hunter2", "x"))
        await client.post(path, content=body, headers=md5_header(body), auth=login("alice"))
        await client.get(path, auth=login("alice"))
        await client.get(path, auth=login("bob"))
        await client.request(
            "LOCK", path, content=json.dumps(lock_document("a")), auth=login("alice")
        )
        await client.request("UNLOCK", path, content="", auth=login("alice"))
        await client.delete(path, auth=login("alice"))
        found = (await client.get("/-/audit", auth=login("alice"))).json()
        told = [(e["who"], e["action"], e["state"]) for e in reversed(found)]
        refused = await client.get("/-/audit/blocks", auth=login("bob"))
        allowed = (await client.get("/-/audit/blocks", auth=login("alice"))).json()
    await store.close()
    assert told == [
        ("alice", "login-failed", ""),
        ("unknown user", "login-failed", ""),
        ("alice", "login", ""),
        ("alice", "write", STATE),
        ("alice", "read", STATE),
        ("bob", "login", ""),
        ("bob", "denied", STATE),
        ("alice", "lock", STATE),
        ("alice", "force-unlock", STATE),
        ("alice", "delete", STATE),
    ]
    assert refused.status_code == 403
    assert "hunter2" not in json.dumps(allowed), "people type passwords into the wrong field"
    blocks = [Block(**{k: v for k, v in b.items() if k != "valid"}) for b in allowed["blocks"]]
    assert problems(blocks, Mark(**allowed["head"])) == []
    readings = [e for b in blocks for e in b.entries() if (e.action, e.detail) == ("read", "audit")]
    assert [entry.who for entry in readings] == ["alice"], "reading the audit is a read, too"


async def test_a_server_with_a_key_signs_its_blocks(tmp_path: Path) -> None:
    """And says so for each block; without one it does not know."""
    store = SqliteStore(tmp_path / "states", RING)
    application = Application(store, BodyCipher(RING), OpenGuard(), Limits())
    async with client_of(application) as client:
        await client.post(f"/{STATE}", content=state_body(1))
        page = (await client.get("/-/audit/blocks")).json()
        assert page["signed"]
        assert [block["valid"] for block in page["blocks"]] == [True] * len(page["blocks"])
    await store.close()


SCHEMA_1 = """
CREATE TABLE state (
  name TEXT PRIMARY KEY, lock_id TEXT, lock_info BLOB, released TEXT NOT NULL DEFAULT '',
  number INTEGER NOT NULL DEFAULT 0, current INTEGER
) WITHOUT ROWID;
CREATE TABLE version (
  state TEXT NOT NULL, number INTEGER NOT NULL, serial INTEGER NOT NULL, lineage TEXT NOT NULL,
  size INTEGER NOT NULL, md5 TEXT NOT NULL, who TEXT NOT NULL, origin TEXT NOT NULL,
  at REAL NOT NULL, lock_id TEXT NOT NULL, note TEXT NOT NULL, sealed_key TEXT NOT NULL,
  blob TEXT NOT NULL, body BLOB,
  PRIMARY KEY (state, number)
);
CREATE TABLE audit (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, who TEXT NOT NULL, origin TEXT NOT NULL,
  action TEXT NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL
);
"""
