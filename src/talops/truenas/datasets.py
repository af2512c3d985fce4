"""Pools and datasets as TrueNAS returns them, compared with the inventory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Mapping

Entry = dict[str, Any]

GIB = 1024**3
QUOTA = "quota"
INHERIT = "INHERIT"
# Versions differ in how they represent "no limit".
UNSET = (None, "", "0", "none")
# Properties that TrueNAS takes unchanged; all others are uppercase words.
AS_WRITTEN = frozenset({"comments"})
NUMBERS = frozenset({"copies"})


@dataclass(frozen=True)
class Pool:
    name: str
    status: str
    healthy: bool


@dataclass(frozen=True)
class Property:
    """`own`: set on this dataset itself, not inherited."""

    value: str
    own: bool


@dataclass(frozen=True)
class Dataset:
    """Sizes in bytes; without `quota` the dataset has no limit of its own."""

    name: str
    kind: str
    used: int
    available: int
    quota: int | None
    locked: bool
    properties: Mapping[str, Property]


@dataclass(frozen=True)
class Wanted:
    """Properties that are not set here stay unchanged."""

    name: str
    quota: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """One property that differs; `wire` is the value for the API."""

    name: str
    wanted: str
    actual: str
    wire: Any


def read_pool(entry: Entry) -> Pool:
    try:
        return Pool(str(entry["name"]), str(entry["status"]), bool(entry["healthy"]))
    except (KeyError, TypeError) as error:
        raise _odd("pool", error) from error


def read_dataset(entry: Entry) -> Dataset:
    try:
        limit = entry[QUOTA]["rawvalue"]
        return Dataset(
            name=str(entry["id"]),
            kind=str(entry["type"]),
            used=_bytes(entry, "used"),
            available=_bytes(entry, "available"),
            quota=None if limit in UNSET else int(limit),
            locked=bool(entry.get("locked")),
            properties={
                name: Property(str(found.get("value")), own=found.get("source") == "LOCAL")
                for name, found in entry.items()
                if isinstance(found, dict) and "source" in found
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _odd("dataset", error) from error


def _bytes(entry: Entry, name: str) -> int:
    return int(entry[name]["rawvalue"])


def _odd(what: str, error: Exception) -> TalopsError:
    return TalopsError(
        f"TrueNAS returned a {what} in an unknown format: {error!r}",
        hint="report this as a bug, with the version of TrueNAS",
    )


def settings(wanted: Wanted) -> list[Setting]:
    """All properties of a new dataset."""
    return differences(wanted, None)


def differences(wanted: Wanted, live: Dataset | None) -> list[Setting]:
    found = []
    if wanted.quota is not None and (live is None or live.quota != wanted.quota):
        actual = size(live.quota) if live and live.quota else "none"
        found.append(Setting(QUOTA, size(wanted.quota), actual, wanted.quota))
    for name, value in wanted.properties.items():
        current = live.properties.get(name) if live else None
        if current is None or not _same(name, value, current):
            actual = current.value.lower() if current else "nothing"
            found.append(Setting(name, value, actual, wire(name, value)))
    return found


def _same(name: str, wanted: str, current: Property) -> bool:
    if wire(name, wanted) == INHERIT:
        return not current.own
    return str(wire(name, wanted)) == (
        current.value if name in AS_WRITTEN else current.value.upper()
    )


def wire(name: str, value: str) -> Any:
    if name in AS_WRITTEN:
        return value
    if name in NUMBERS and value.isdigit():
        return int(value)
    return value.upper()


def body(changes: list[Setting]) -> Entry:
    return {change.name: change.wire for change in changes}


def size(count: int) -> str:
    """Human-readable: 200 GiB, 1.5 GiB."""
    return f"{count / GIB:.1f}".removesuffix(".0") + " GiB"
