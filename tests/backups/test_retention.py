"""Which backups stay, and that the last good one always does."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.backups.site import Lab, three_planes

from talops.app.backups import keeping, pruning
from talops.backups.manifest import Manifest
from talops.backups.retention import selected
from talops.errors import TalopsError
from talops.inventory.operating import Keep

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NOW = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)
NOTHING = {"last": 0, "daily": 0, "weekly": 0, "monthly": 0, "yearly": 0}


def at(**ago: float) -> Manifest:
    created = NOW - timedelta(**ago)
    values: dict[str, Any] = {"id": f"{created:%Y-%m-%d %H}", "created": created}
    return Manifest.model_construct(**values)


def kept(keep: dict[str, Any], *manifests: Manifest) -> list[str]:
    found = selected(manifests, Keep.model_validate({**NOTHING, **keep}), NOW)
    return sorted(found, reverse=True)


HOURLY = [at(hours=n) for n in range(400)]


@pytest.mark.parametrize(
    ("keep", "ids"),
    [
        ({"last": 2}, ["2026-11-19 12", "2026-11-19 11"]),
        ({"within": "3h"}, ["2026-11-19 12", "2026-11-19 11", "2026-11-19 10"]),
        ({"daily": 3}, ["2026-11-19 12", "2026-11-18 23", "2026-11-17 23"]),
        ({"weekly": 3}, ["2026-11-19 12", "2026-11-15 23", "2026-11-08 23"]),
        ({"monthly": 9}, ["2026-11-19 12"]),
        ({"last": 1, "daily": 2}, ["2026-11-19 12", "2026-11-18 23"]),
        ({}, []),
    ],
)
def test_rules(keep: dict[str, Any], ids: list[str]) -> None:
    """Backups of every hour for 17 days."""
    assert kept(keep, *HOURLY) == ids


def test_periods_without_backups_do_not_count() -> None:
    """After a year of silence the old ones are still worth something."""
    old = [at(days=400 + n) for n in range(5)]
    assert kept({"daily": 3}, at(hours=0), *old) == [
        "2026-11-19 12",
        "2025-10-15 12",
        "2025-10-14 12",
    ]
    assert kept({"yearly": 5}, at(hours=0), *old) == ["2026-11-19 12", "2025-10-15 12"]


@pytest.fixture
async def lab(tmp_path: Path, snapshot: bytes) -> AsyncIterator[Lab]:
    async with three_planes(tmp_path / "site") as made:
        text = (made.root / "cluster.yaml").read_text()
        keep = ", ".join(f"{name}: {n}" for name, n in {**NOTHING, "last": 1}.items())
        (made.root / "cluster.yaml").write_text(f"{text}backup: {{keep: {{{keep}}}}}\n")
        for name in made.nodes:
            made.answers(name, snapshot)
        yield made


async def create(lab: Lab, number: int) -> list[str]:
    """The newest first."""
    made = [(await keeping.create(lab.site(), print)).id for _ in range(number)]
    return made[::-1]


async def pruned(lab: Lab, *, unusable: bool = False) -> list[str]:
    site = lab.site()
    await pruning.prune(site, await pruning.selection(site), unusable=unusable)
    return [each.id for each in await keeping.listed(site)]


async def test_prune(lab: Lab) -> None:
    """It deletes both files of each removed backup, and nothing else."""
    ids = await create(lab, 3)
    chosen = await pruning.selection(lab.site())
    assert (dict(chosen.kept), list(chosen.removed)) == (
        {ids[0]: ["last", "last good"]},
        ids[1:],
    )
    assert await pruned(lab) == ids[:1]
    assert lab.stored() == [f"{ids[0]}.age", f"{ids[0]}.json"]


async def test_the_last_good_one_stays(lab: Lab) -> None:
    """The newest is damaged without a trace in its size: the one before it is kept, too."""
    ids = await create(lab, 3)
    newest = lab.store / f"{ids[0]}.age"
    data = bytearray(newest.read_bytes())
    data[1000] ^= 1
    newest.write_bytes(data)
    assert await pruned(lab) == ids[:2]


async def test_nothing_goes_if_all_are_damaged(lab: Lab) -> None:
    """An error instead of an empty store."""
    ids = await create(lab, 2)
    for id_ in ids:
        path = lab.store / f"{id_}.age"
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(TalopsError, match="every backup is damaged"):
        await pruned(lab)
    assert len(await keeping.listed(lab.site())) == 2


async def test_what_cannot_be_used_stays_unless_named(lab: Lab) -> None:
    """It counts for no rule: the good one behind it is kept."""
    ids = await create(lab, 2)
    (lab.store / f"{ids[0]}.age").unlink()
    assert await pruned(lab) == ids
    assert await pruned(lab, unusable=True) == ids[1:]


async def test_interrupted_uploads_are_swept(lab: Lab) -> None:
    """After a day, because a younger one may still be written."""
    await create(lab, 1)
    names = [".incoming-abc", "20200101T000000Z-01234567.age"]
    for name in names:
        (lab.store / name).write_bytes(b"x")
    await pruned(lab)
    assert all((lab.store / name).exists() for name in names)
    for name in names:
        os.utime(lab.store / name, (0, 0))
    await pruned(lab)
    assert not any((lab.store / name).exists() for name in names)
