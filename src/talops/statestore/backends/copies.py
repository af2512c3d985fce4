"""Names of backup copies: creation time and serial."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.statestore.backends.interface import Kept, md5_of
from talops.statestore.documents import NotAStateError, header_of
from talops.statestore.model import Retention
from talops.statestore.rules import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence

SUFFIX = ".tfstate"
_NAME = re.compile(r"(\d{8}T\d{12}Z)-s(\d+)\Z")
_STAMP = "%Y%m%dT%H%M%S%fZ"
DEFAULT_KEEP = Retention(count=30, days=90)


def name_of(data: bytes, now: datetime) -> str:
    """Sorts by time; a corrupt state is also kept, with serial 0."""
    try:
        serial = header_of(data).serial
    except NotAStateError:
        serial = 0
    return f"{now.astimezone(UTC).strftime(_STAMP)}-s{serial}"


def made_at(name: str) -> datetime | None:
    """None if it is not a name of a backup copy."""
    match = _NAME.match(name)
    return datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC) if match else None


def kept(name: str, data: bytes) -> Kept:
    made = made_at(name)
    at = made.isoformat(timespec="seconds") if made else ""
    try:
        header = header_of(data)
    except NotAStateError as error:
        return Kept(name, 0, "", len(data), md5_of(data), at, note=error.what)
    return Kept(name, header.serial, header.lineage, len(data), md5_of(data), at)


def outdated(names: Sequence[str], keep: Retention, now: datetime) -> list[str]:
    """The copies to remove; never the newest."""
    ordered = sorted((name for name in names if made_at(name)), reverse=True)
    return [
        name
        for place, name in enumerate(ordered)
        if place > 0
        and (
            (keep.count and place >= keep.count)
            or (keep.days and _age(name, now) > keep.days * DAY)
        )
    ]


def _age(name: str, now: datetime) -> float:
    made = made_at(name)
    return (now - made).total_seconds() if made else 0.0
