"""The changes of a head object: pure functions from a document to an outcome and a document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from talops.statestore import rules
from talops.statestore.model import AuditEntry, Outcome, OutcomeKind
from talops.statestore.s3.heads import Document

if TYPE_CHECKING:
    from talops.statestore.model import Actor, Draft, Lock, Retention

Judged = tuple[Outcome, Document | None]


def lock(document: Document, wanted: Lock) -> Judged:
    outcome = rules.lock(document.head, wanted)
    if outcome.kind is not OutcomeKind.DONE:
        return outcome, None
    return outcome, replace(document, head=replace(document.head, lock=wanted))


def unlock(document: Document, lock_id: str | None, entry: AuditEntry | None) -> Judged:
    outcome = rules.unlock(document.head, lock_id)
    held = document.head.lock
    if outcome.kind is not OutcomeKind.DONE or held is None:
        return outcome, None
    released = rules.release(document.head.released, held.id)
    after = replace(document, head=replace(document.head, lock=None, released=released))
    if entry:
        after = after.noting(replace(entry, detail=f"lock {held.id}"))
    return outcome, after


def write(document: Document, state: str, draft: Draft, action: str = "forced-write") -> Judged:
    outcome = rules.write(document.head, draft)
    if outcome.kind is not OutcomeKind.DONE or outcome.current is None:
        return outcome, None
    version = draft.numbered(outcome.current.number)
    head = replace(document.head, number=version.number, current=version)
    after = replace(document, head=head, versions=(*document.versions, version))
    if draft.force:
        detail = f"version {version.number}, serial {version.serial}"
        after = after.noting(
            AuditEntry(draft.at, draft.actor.who, draft.actor.origin, action, state, detail)
        )
    return outcome, after


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


def prune(document: Document, keep: Retention, now: float) -> tuple[int, Document | None]:
    gone = {version.number for version in rules.expired(document.versions, keep, now)}
    if not gone:
        return 0, None
    left = tuple(version for version in document.versions if version.number not in gone)
    return len(gone), replace(document, versions=left)
