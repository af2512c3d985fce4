"""What differs between a dataset and what is wanted of it: facts in, settings out."""

from __future__ import annotations

from typing import Any

import pytest

from talops.errors import TalopsError
from talops.truenas.datasets import (
    GIB,
    Dataset,
    Property,
    Wanted,
    body,
    differences,
    read_dataset,
    read_pool,
    size,
)

LIVE = Dataset(
    "tank/a",
    "FILESYSTEM",
    used=3 * GIB,
    available=7 * GIB,
    quota=10 * GIB,
    locked=False,
    properties={
        "compression": Property("LZ4", own=False),
        "recordsize": Property("128K", own=True),
        "copies": Property("2", own=True),
        "comments": Property("for Talos", own=True),
        "atime": Property("OFF", own=True),
    },
)


@pytest.mark.parametrize(
    ("wanted", "changes"),
    [
        ({}, {}),
        ({"quota": 10 * GIB}, {}),
        ({"quota": 20 * GIB}, {"quota": 20 * GIB}),
        ({"properties": {"compression": "lz4", "recordsize": "128k", "copies": "2"}}, {}),
        ({"properties": {"compression": "zstd"}}, {"compression": "ZSTD"}),
        ({"properties": {"compression": "inherit", "atime": "inherit"}}, {"atime": "INHERIT"}),
        ({"properties": {"copies": "3"}}, {"copies": 3}),
        ({"properties": {"comments": "for Talos"}}, {}),
        ({"properties": {"comments": "for talos"}}, {"comments": "for talos"}),
        ({"properties": {"sync": "always"}}, {"sync": "ALWAYS"}),
    ],
)
def test_differences(wanted: dict[str, Any], changes: dict[str, Any]) -> None:
    """Only what is named and not so; the values as TrueNAS takes them."""
    assert body(differences(Wanted("tank/a", **wanted), LIVE)) == changes


def test_a_new_dataset_gets_everything() -> None:
    """Against nothing everything differs."""
    found = differences(Wanted("tank/a", GIB, {"atime": "off"}), None)
    assert [(s.name, s.wanted, s.actual) for s in found] == [
        ("quota", "1 GiB", "none"),
        ("atime", "off", "nothing"),
    ]


@pytest.mark.parametrize(
    ("raw", "quota"), [("0", None), (None, None), ("none", None), ("1073741824", GIB)]
)
def test_quotas_as_versions_tell_them(raw: str | None, quota: int | None) -> None:
    """No limit is told in several ways, and is never a limit of nothing."""
    told = {"rawvalue": "1", "value": "1", "source": "NONE"}
    entry = {"id": "a", "type": "FILESYSTEM", "used": told, "available": told}
    assert read_dataset({**entry, "quota": {**told, "rawvalue": raw}}).quota == quota


@pytest.mark.parametrize("entry", [{}, {"id": "a", "type": "FILESYSTEM", "quota": None}])
def test_answers_of_another_world(entry: dict[str, Any]) -> None:
    """What cannot be understood is an error, never an empty dataset."""
    with pytest.raises(TalopsError, match="unknown format"):
        read_dataset(entry)
    with pytest.raises(TalopsError, match="unknown format"):
        read_pool(entry)


@pytest.mark.parametrize(("count", "text"), [(GIB, "1 GiB"), (3 * GIB // 2, "1.5 GiB")])
def test_sizes(count: int, text: str) -> None:
    """As people write them."""
    assert size(count) == text
