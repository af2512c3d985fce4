"""The changes of the database, each a function of a connection inside a transaction."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from talops.statestore import rules
from talops.statestore.model import SERVER, AuditEntry, Head, Outcome, OutcomeKind, Version
from talops.statestore.sqlite.schema import NUMBERED_QUERY, VERSION_COLUMNS

if TYPE_CHECKING:
    from talops.statestore.model import Actor, Draft, Fence, Lock, Retention
    from talops.statestore.sqlite.ledger import Ledger

_LOCK = """INSERT INTO state (name, lock_id, lock_info, lock_owner, lock_expires, released)
VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET lock_id = excluded.lock_id,
lock_info = excluded.lock_info, lock_owner = excluded.lock_owner,
lock_expires = excluded.lock_expires, released = excluded.released"""
_UNLOCK = "UPDATE state SET lock_id = NULL, lock_info = NULL, released = ? WHERE name = ?"
_INSERT = f"INSERT INTO version (state, {VERSION_COLUMNS}, body) VALUES ({'?, ' * 13}?)"  # noqa: S608
_ADVANCE = """INSERT INTO state (name, number, current) VALUES (?, ?, ?) ON CONFLICT (name)
DO UPDATE SET number = excluded.number, current = excluded.current"""
_VALUES = attrgetter(*Version.__slots__)


def lock(
    db: Ledger,
    state: str,
    wanted: Lock,
    entry: AuditEntry | None = None,
    now: float = 0.0,
    fence: Fence | None = None,
) -> Outcome:
    before = db.head(state)
    outcome = rules.lock(before, wanted, now, fenced=_is_fenced(db, fence))
    renewed = outcome.kind is OutcomeKind.SAME and bool(wanted.lease)
    if outcome.kind is OutcomeKind.DONE or renewed:
        after = rules.hold(before, wanted, now)
        assert after.lock is not None
        held = after.lock
        released = " ".join(after.released)
        db.execute(_LOCK, (state, held.id, held.info, held.owner, held.expires, released))
        db.remember(state, after)
        if entry and not renewed:
            db.noted.append(rules.locking(entry, wanted, before.lock))
    return outcome


def unlock(
    db: Ledger,
    state: str,
    lock_id: str | None,
    entry: AuditEntry | None,
    by: str | None = None,
    fence: Fence | None = None,
) -> Outcome:
    before = db.head(state)
    outcome = rules.unlock(before, lock_id, by, fenced=_is_fenced(db, fence))
    if outcome.kind is OutcomeKind.DONE and before.lock:
        released = rules.release(before.released, before.lock.id)
        db.execute(_UNLOCK, (" ".join(released), state))
        db.remember(state, Head(None, released, before.number, before.current))
        if entry:
            db.noted.append(rules.unlocking(entry, before.lock))
    return outcome


def write(db: Ledger, state: str, draft: Draft) -> Outcome:
    outcome = rules.write(db.head(state), draft, fenced=_is_fenced(db, draft.fence))
    if outcome.kind is OutcomeKind.DONE and outcome.current:
        version = draft.numbered(outcome.current.number)
        _insert(db, state, version, None if draft.blob else draft.body)
        action = "forced-write" if draft.force else "write"
        db.noted.append(draft.entry(action, state, outcome.current))
    return outcome


def rollback(db: Ledger, state: str, number: int, draft: Draft) -> Outcome:
    found = db.execute(NUMBERED_QUERY, (state, number)).fetchone()
    if found is None:
        return Outcome(OutcomeKind.ABSENT)
    copy = draft.copying(Version(*found[1:]))
    outcome = rules.write(db.head(state), copy, fenced=_is_fenced(db, draft.fence))
    if outcome.kind is OutcomeKind.DONE and outcome.current:
        _insert(db, state, copy.numbered(outcome.current.number), found[0])
        db.noted.append(copy.entry("rollback", state, outcome.current))
    return outcome


def delete(db: Ledger, state: str, actor: Actor, at: float) -> Outcome:
    before = db.head(state)
    outcome = rules.delete(before)
    if outcome.kind is OutcomeKind.DONE and outcome.current:
        db.execute("UPDATE state SET current = NULL WHERE name = ?", (state,))
        db.remember(state, Head(before.lock, before.released, before.number, None))
        detail = f"version {outcome.current.number}, serial {outcome.current.serial}"
        db.noted.append(AuditEntry(at, actor.who, actor.origin, "delete", state, detail))
    return outcome


def prune(db: Ledger, state: str, keep: Retention, now: float) -> tuple[int, list[str]]:
    """The number of removed versions, and the blobs that no version refers to any more."""
    rows = db.execute(f"SELECT {VERSION_COLUMNS} FROM version WHERE state = ?", (state,))  # noqa: S608
    gone = rules.expired([Version(*row) for row in rows], keep, now)
    db.executemany(
        "DELETE FROM version WHERE state = ? AND number = ?", [(state, v.number) for v in gone]
    )
    blobs = {version.blob for version in gone if version.blob}
    named = {
        blob
        for blob in blobs
        if db.execute("SELECT 1 FROM version WHERE blob = ?", (blob,)).fetchone()
    }
    if gone:
        detail = ", ".join(f"version {version.number}" for version in gone)
        db.noted.append(AuditEntry(now, SERVER, "", "retention", state, detail))
    return len(gone), sorted(blobs - named)


def rewrap(db: Ledger, state: str, number: int, sealed_key: str) -> None:
    db.execute(
        "UPDATE version SET sealed_key = ? WHERE state = ? AND number = ?",
        (sealed_key, state, number),
    )
    db.forget()


def _is_fenced(db: Ledger, fence: Fence | None) -> bool:
    return fence is not None and rules.is_fenced(fence, db.head(fence.state))


def _insert(db: Ledger, state: str, version: Version, body: bytes | None) -> None:
    db.execute(_INSERT, (state, *_VALUES(version), body))
    db.execute(_ADVANCE, (state, version.number, version.number))
    before = db.head(state)
    db.remember(state, Head(before.lock, before.released, version.number, version))
