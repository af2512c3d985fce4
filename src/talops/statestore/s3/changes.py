"""The changes of a head object: pure functions from a document to an outcome and a document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from talops.statestore import rules
from talops.statestore.model import SERVER, AuditEntry, Outcome, OutcomeKind
from talops.statestore.s3.heads import Document

if TYPE_CHECKING:
    from talops.statestore.model import Actor, Draft, Lock, Retention

Judged = tuple[Outcome, Document | None]


def lock(document: Document, wanted: Lock, entry: AuditEntry | None, now: float) -> Judged:
    before = document.head
    outcome = rules.lock(before, wanted, now, fenced=document.fenced)
    renewed = outcome.kind is OutcomeKind.SAME and bool(wanted.lease)
    if outcome.kind is not OutcomeKind.DONE and not renewed:
        return outcome, None
    after = replace(document, head=rules.hold(before, wanted, now))
    if entry and not renewed:
        after = after.noting(rules.locking(entry, wanted, before.lock))
    return outcome, after


def unlock(
    document: Document, lock_id: str | None, entry: AuditEntry | None, by: str | None
) -> Judged:
    outcome = rules.unlock(document.head, lock_id, by, fenced=document.fenced)
    held = document.head.lock
    if outcome.kind is not OutcomeKind.DONE or held is None:
        return outcome, None
    released = rules.release(document.head.released, held.id)
    after = replace(document, head=replace(document.head, lock=None, released=released))
    return outcome, after.noting(rules.unlocking(entry, held)) if entry else after


def write(document: Document, state: str, draft: Draft, action: str = "") -> Judged:
    outcome = rules.write(document.head, draft, fenced=document.fenced)
    if outcome.kind is not OutcomeKind.DONE or outcome.current is None:
        return outcome, None
    version = draft.numbered(outcome.current.number)
    head = replace(document.head, number=version.number, current=version)
    after = replace(document, head=head, versions=(*document.versions, version))
    action = action or ("forced-write" if draft.force else "write")
    return outcome, after.noting(draft.entry(action, state, outcome.current))


def rollback(document: Document, state: str, number: int, draft: Draft) -> Judged:
    old = next((v for v in document.versions if v.number == number), None)
    if old is None:
        return Outcome(OutcomeKind.ABSENT), None
    return write(document, state, draft.copying(old), "rollback")


def delete(document: Document, state: str, actor: Actor, at: float) -> Judged:
    outcome = rules.delete(document.head)
    if outcome.kind is not OutcomeKind.DONE or outcome.current is None:
        return outcome, None
    detail = f"version {outcome.current.number}, serial {outcome.current.serial}"
    after = replace(document, head=replace(document.head, current=None))
    return outcome, after.noting(AuditEntry(at, actor.who, actor.origin, "delete", state, detail))


def rewrap(document: Document, number: int, sealed_key: str) -> Judged:
    versions = tuple(
        replace(v, sealed_key=sealed_key) if v.number == number else v for v in document.versions
    )
    current = document.head.current
    newest = next((v for v in versions if current and v.number == current.number), None)
    after = replace(document, head=replace(document.head, current=newest), versions=versions)
    return Outcome(OutcomeKind.DONE), after


def prune(
    document: Document, state: str, keep: Retention, now: float
) -> tuple[int, Document | None]:
    gone = {version.number for version in rules.expired(document.versions, keep, now)}
    if not gone:
        return 0, None
    left = tuple(version for version in document.versions if version.number not in gone)
    detail = ", ".join(f"version {number}" for number in sorted(gone))
    after = replace(document, versions=left)
    return len(gone), after.noting(AuditEntry(now, SERVER, "", "retention", state, detail))
