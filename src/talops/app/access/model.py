"""One certificate, token or key of a cluster, and what its expiry means. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


class Kind(StrEnum):
    CA = "CA"
    SERVER = "server certificate"
    CLIENT = "client certificate"
    TOKEN = "token"  # noqa: S105  (the word, not a token)
    KEY = "key"


class Level(StrEnum):
    """`unknown`: it could not be read, which is neither good nor bad."""

    GOOD = "good"
    DUE = "due"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Credential:
    """`renews` is who renews it, `how` by what. `notice`: how long before expiry that someone must
    act; zero if Talos renews it. `expires` is None if it does not expire.
    """

    name: str
    kind: Kind
    where: str
    renews: str
    how: str
    expires: datetime | None = None
    notice: timedelta = field(default_factory=timedelta)
    unread: str = ""

    def level(self, now: datetime) -> Level:
        if self.unread:
            return Level.UNKNOWN
        if self.expires is None:
            return Level.GOOD
        left = self.expires - now
        if left <= timedelta():
            return Level.EXPIRED
        return Level.DUE if left < self.notice else Level.GOOD

    def expiry(self, now: datetime) -> str:
        if self.unread:
            return f"cannot be read: {self.unread}"
        if self.expires is None:
            return "does not expire"
        left = self.expires - now
        if left <= timedelta():
            return f"expired on {self.expires:%Y-%m-%d}"
        hours = count(left.seconds // 3600, "hour")
        return f"{self.expires:%Y-%m-%d} (in {count(left.days, 'day') if left.days else hours})"

    def as_dict(self, now: datetime) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": str(self.kind),
            "where": self.where,
            "expires": self.expires.isoformat() if self.expires else None,
            "level": str(self.level(now)),
            "renewed_by": self.renews,
            "how": self.how,
            "unread": self.unread or None,
        }


def in_order(found: Iterable[Credential]) -> list[Credential]:
    """What expires first is first; what does not expire is last."""
    return sorted(
        found,
        key=lambda each: (each.expires is None, each.expires.timestamp() if each.expires else 0.0),
    )


def wrong(found: Iterable[Credential], now: datetime) -> list[Credential]:
    """What someone has to do something about."""
    return [each for each in found if each.level(now) in {Level.DUE, Level.EXPIRED}]
