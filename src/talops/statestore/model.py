"""The values passed between protocol and stores: locks, versions, drafts and outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Lock:
    """`info` is the JSON of the holder; a refused client receives exactly these bytes.

    `owner` is the authenticated user; "" for locks of servers that did not store it. A lock that
    asks for a `lease` ends at `expires` unless it is renewed; 0 = never.
    """

    id: str
    info: bytes
    owner: str = ""
    expires: float = 0.0
    lease: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Fence:
    """A request is only valid while this lock of another name is held with this id."""

    state: str
    lock_id: str


@dataclass(frozen=True, slots=True)
class Actor:
    """The user of a request, and its address."""

    who: str
    origin: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The fields of the newest version that the response to a write contains."""

    number: int
    serial: int
    lineage: str
    md5: str


@dataclass(frozen=True, slots=True)
class Version:
    """One stored version. Either an inline body or a blob contains the bytes."""

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
    # The data key of this version, wrapped by a master key; "" if not encrypted.
    sealed_key: str = ""
    blob: str = ""

    @property
    def standing(self) -> Standing:
        return Standing(self.number, self.serial, self.lineage, self.md5)


@dataclass(frozen=True, slots=True)
class Head:
    """The data of a state that a store needs to decide on a request."""

    lock: Lock | None = None
    # Recently released lock ids, to recognise a repeated UNLOCK or LOCK.
    released: tuple[str, ...] = ()
    # The last assigned number; it never decreases, even after a deletion.
    number: int = 0
    current: Version | None = None

    @property
    def standing(self) -> Standing | None:
        return self.current.standing if self.current else None


@dataclass(frozen=True, slots=True)
class Draft:
    """A version to write as the newest one."""

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
    fence: Fence | None = None
    # Wraps the data key for exactly this version, as soon as its number is known.
    wrap: Callable[[Version], str] | None = field(default=None, repr=False, compare=False)
    # The same for a copy: of an older version, for a new one.
    rewrap: Callable[[Version, Version], str] | None = field(
        default=None, repr=False, compare=False
    )

    def standing(self, number: int) -> Standing:
        return Standing(number, self.serial, self.lineage, self.md5)

    def copying(self, old: Version) -> Draft:
        """An older version to write as the newest one."""
        return replace(
            self,
            serial=old.serial,
            lineage=old.lineage,
            size=old.size,
            md5=old.md5,
            sealed_key=old.sealed_key,
            blob=old.blob,
            force=True,
            wrap=partial(self.rewrap, old) if self.rewrap and old.sealed_key else None,
        )

    def numbered(self, number: int) -> Version:
        version = Version(
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
        return replace(version, sealed_key=self.wrap(version)) if self.wrap else version

    def entry(self, action: str, state: str, version: Standing) -> AuditEntry:
        detail = f"version {version.number}, serial {version.serial}, MD5 {version.md5}"
        return AuditEntry(self.at, self.actor.who, self.actor.origin, action, state, detail)


class OutcomeKind(StrEnum):
    """What a store did with a request, or why it refused."""

    DONE = "done"
    SAME = "same"  # repeated; already done
    HELD = "held"  # another client holds the lock
    LOST = "lost"  # the lock of the caller no longer exists
    SPENT = "spent"  # this lock id was already released
    OLDER = "older"  # the serial is older than the stored one
    FOREIGN = "foreign"  # another lineage
    DENIED = "denied"  # the lock belongs to another user
    FENCED = "fenced"  # the run of this request lost its lock
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: OutcomeKind
    holder: Lock | None = None
    current: Standing | None = None

    @property
    def accepted(self) -> bool:
        return self.kind in {OutcomeKind.DONE, OutcomeKind.SAME}


@dataclass(frozen=True, slots=True)
class Stored:
    """A version with its bytes as stored; `body` is None if they are in a blob."""

    version: Version
    body: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Summary:
    name: str
    lock: Lock | None
    current: Version | None


# The actor of what no user asked for, such as retention.
SERVER = "state server"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    at: float
    who: str
    origin: str
    action: str
    state: str
    detail: str = ""

    @property
    def row(self) -> tuple[float, str, str, str, str, str]:
        """All fields, without copies."""
        return self.at, self.who, self.origin, self.action, self.state, self.detail


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history to keep; the newest version is always kept. 0 = no limit."""

    count: int = 0
    days: float = 0
