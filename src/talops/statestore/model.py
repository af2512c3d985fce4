"""The values that pass between protocol and stores: locks, versions, drafts and outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Lock:
    """`info` is the holder's own JSON: whoever is refused gets exactly these bytes."""

    id: str
    info: bytes


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something, and from which address."""

    who: str
    origin: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The newest version, as far as an answer to a write has to name it."""

    number: int
    serial: int
    lineage: str
    md5: str


@dataclass(frozen=True, slots=True)
class Version:
    """One kept state. Exactly one of an inline body and a blob holds the bytes."""

    number: int
    serial: int
    lineage: str
    size: int
    md5: str
    who: str
    origin: str
    at: float
    lock_id: str = ""
    note: str = ""
    # The data key of this version, wrapped by a master key; "" when stored in the clear.
    sealed_key: str = ""
    blob: str = ""

    @property
    def standing(self) -> Standing:
        return Standing(self.number, self.serial, self.lineage, self.md5)


@dataclass(frozen=True, slots=True)
class Head:
    """What a store must know of a state to judge a request."""

    lock: Lock | None = None
    # Lock ids that were given back lately: a re-sent UNLOCK or LOCK of theirs is recognised.
    released: tuple[str, ...] = ()
    # The last number given out; it keeps rising after a deletion.
    number: int = 0
    current: Version | None = None

    @property
    def standing(self) -> Standing | None:
        return self.current.standing if self.current else None


@dataclass(frozen=True, slots=True)
class Draft:
    """A version that asks to become the newest one."""

    serial: int
    lineage: str
    size: int
    md5: str
    actor: Actor
    at: float
    lock_id: str = ""
    force: bool = False
    note: str = ""
    sealed_key: str = ""
    blob: str = ""
    body: bytes = field(default=b"", repr=False)

    def standing(self, number: int) -> Standing:
        return Standing(number, self.serial, self.lineage, self.md5)

    def copying(self, old: Version) -> Draft:
        """The same wish, for the content of an older version."""
        return replace(
            self,
            serial=old.serial,
            lineage=old.lineage,
            size=old.size,
            md5=old.md5,
            sealed_key=old.sealed_key,
            blob=old.blob,
            force=True,
        )

    def numbered(self, number: int) -> Version:
        return Version(
            number,
            self.serial,
            self.lineage,
            self.size,
            self.md5,
            self.actor.who,
            self.actor.origin,
            self.at,
            self.lock_id,
            self.note,
            self.sealed_key,
            self.blob,
        )


class Verdict(StrEnum):
    DONE = "done"
    SAME = "same"  # re-sent; the outcome already stands
    HELD = "held"  # somebody else holds the lock
    LOST = "lost"  # the caller's lock is gone
    SPENT = "spent"  # this lock id was given back already
    OLDER = "older"  # the serial goes backwards
    FOREIGN = "foreign"  # another lineage
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Outcome:
    verdict: Verdict
    holder: Lock | None = None
    current: Standing | None = None

    @property
    def accepted(self) -> bool:
        return self.verdict in {Verdict.DONE, Verdict.SAME}


@dataclass(frozen=True, slots=True)
class Stored:
    """A version with its bytes, as they lie in the store; `body` is None when a blob has them."""

    version: Version
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Summary:
    name: str
    lock: Lock | None
    current: Version | None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    at: float
    who: str
    origin: str
    action: str
    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history stays; the newest version always does. 0 means no limit."""

    count: int = 0
    days: float = 0
