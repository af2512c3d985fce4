"""Which certificates someone has to act on, and in which order they are shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from talops.app.access.bundled import bundled
from talops.app.access.model import Credential, Kind, Level, in_order, wrong

if TYPE_CHECKING:
    from tests.app.access.conftest import Home

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


def credential(name: str, days: float | None, notice: timedelta = MONTH) -> Credential:
    at = None if days is None else NOW + timedelta(days=days)
    return Credential(name, Kind.CLIENT, "x", "you", "how", at, notice)


def test_what_expires_first_is_first() -> None:
    """Keys without an end are last, and what Talos renews needs no action."""
    rows = [
        credential("key", None),
        credential("far", 400),
        credential("near", 3),
        credential("apid", 0.4, timedelta()),
        credential("over", -1),
    ]
    assert [each.name for each in in_order(rows)] == ["over", "apid", "near", "far", "key"]
    assert [each.name for each in wrong(rows, NOW)] == ["near", "over"]
    assert credential("over", -1).expiry(NOW) == "expired on 2025-12-31"
    assert credential("apid", 0.4, timedelta()).expiry(NOW) == "2026-01-01 (in 9 hours)"


def test_what_cannot_be_read_is_unknown() -> None:
    """Neither good nor expired."""
    row = Credential("x", Kind.SERVER, "x", "you", "how", unread="refused")
    assert row.level(NOW) is Level.UNKNOWN
    assert row.expiry(NOW) == "cannot be read: refused"


def test_every_secret_of_the_cluster_is_listed(home: Home) -> None:
    """Four CAs with an end, and keys and tokens without one."""
    rows = list(bundled(home.bundle, "file"))
    assert [each.name for each in rows if each.kind is Kind.CA] == [
        "Talos CA",
        "Kubernetes CA",
        "etcd CA",
        "aggregator CA",
    ]
    assert all((each.expires is None) == (each.kind is not Kind.CA) for each in rows)
