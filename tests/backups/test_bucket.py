"""Backups in a bucket: a real S3 server, and one that is full, slow or lies about its writes."""

from __future__ import annotations

import asyncio
from typing import IO, TYPE_CHECKING, Any

import pytest
from tests.backups.site import Lab, three_planes
from tests.statestore.s3_server import s3

from talops.app.backups import keeping, pruning
from talops.backups import bucket as buckets
from talops.backups.bucket import BucketStore
from talops.errors import TalopsError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def lab(tmp_path: Path, snapshot: bytes) -> AsyncIterator[Lab]:
    async with three_planes(tmp_path / "site") as made:
        for name in made.nodes:
            made.answers(name, snapshot)
        yield made


@pytest.mark.slow
async def test_a_real_bucket(lab: Lab) -> None:
    """Create, list, prove, prune: what a directory can, with objects instead of files."""
    with s3() as server:
        place = f"s3://{server.new_bucket()}/team"
        text = (lab.root / "cluster.yaml").read_text()
        keep = "{last: 1, daily: 0, weekly: 0, monthly: 0}"
        (lab.root / "cluster.yaml").write_text(
            f"{text}backup: {{store: '{place}', keep: {keep}}}\n"
        )

        def site() -> Any:
            found = lab.site()
            object.__setattr__(found, "environment", dict(server.options))
            return found

        first = await keeping.create(site(), print)
        second = await keeping.create(site(), print)
        ids = [backup.id for backup in await keeping.listed(site())]
        assert ids == [second.id, first.id]
        proofs = await keeping.proofs(site(), [], lambda _: None)
        assert [proof.error for proof in proofs] == [None, None]
        await pruning.prune(site(), await pruning.selection(site()), unusable=False)
        assert [backup.id for backup in await keeping.listed(site())] == [second.id]
    assert lab.stored() == []
    spool = lab.root / ".talops" / "backups"
    assert list(spool.iterdir()) == []


class Shelf:
    """A bucket in memory, with the methods of `statestore.s3.bucket.Bucket` that backups use."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    async def entries(self) -> list[tuple[str, int, float]]:
        return [(name, len(data), 0.0) for name, data in self.objects.items()]

    async def get(self, key: str, *, most: int | None = None) -> tuple[bytes, str] | None:
        assert most is None or len(self.objects.get(key, b"")) <= most
        return (self.objects[key], "etag") if key in self.objects else None

    async def put(self, key: str, data: bytes | IO[bytes]) -> None:
        self.objects[key] = data if isinstance(data, bytes) else data.read()

    async def stream(self, key: str) -> AsyncIterator[bytes]:
        data = self.objects[key]
        for start in range(0, len(data), 10_000):
            yield data[start : start + 10_000]

    async def delete(self, keys: list[str]) -> None:
        for key in keys:
            self.objects.pop(key, None)


class Full(Shelf):
    async def put(self, key: str, data: bytes | IO[bytes]) -> None:
        raise UnreachableError("the S3 store does not answer: the request failed", where=key)


class FullForManifests(Shelf):
    async def put(self, key: str, data: bytes | IO[bytes]) -> None:
        if key.endswith(".json"):
            raise UnreachableError("the S3 store does not answer: the request failed", where=key)
        await super().put(key, data)


class Slow(Shelf):
    async def put(self, key: str, data: bytes | IO[bytes]) -> None:
        await asyncio.Event().wait()


class Truncates(Shelf):
    async def put(self, key: str, data: bytes | IO[bytes]) -> None:
        await super().put(key, data)
        self.objects[key] = self.objects[key][:-1]


class Flips(Shelf):
    async def put(self, key: str, data: bytes | IO[bytes]) -> None:
        await super().put(key, data)
        found = bytearray(self.objects[key])
        found[len(found) // 2] ^= 1
        self.objects[key] = bytes(found)


class KeepsTheOld(Shelf):
    """Says yes, and has what it had: for a new name, something else."""

    async def put(self, key: str, data: bytes | IO[bytes]) -> None:
        self.objects.setdefault(key, b"old")


@pytest.mark.parametrize("kind", [Full, FullForManifests, Slow, Truncates, Flips, KeepsTheOld])
async def test_a_bad_bucket(
    lab: Lab, kind: type[Shelf], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command fails with the place and the next step; the last good backup is what it was."""
    good, bad = Shelf(), kind()
    used: list[Shelf] = [good]

    def store(_: Any) -> Any:
        found: Any = used[-1]
        return BucketStore(found, "s3://b/lab", tmp_path / "spool")

    monkeypatch.setattr("talops.backups.opening.open_store", store)
    monkeypatch.setattr(buckets, "PATIENCE", 0.5)
    before = await keeping.create(lab.site(), print)
    bad.objects.update(good.objects)
    kept = dict(good.objects)
    used.append(bad)
    with pytest.raises(TalopsError) as caught:
        await keeping.create(lab.site(), print)
    assert "s3://b/lab" in str(caught.value.where)
    assert "earlier backups are unchanged" in str(caught.value.hint)
    assert kept.items() <= bad.objects.items()
    listed = await keeping.listed(lab.site())
    assert [backup.id for backup in listed if backup.usable] == [before.id]
    (proof,) = await keeping.proofs(lab.site(), [before.id], lambda _: None)
    assert proof.error is None
    assert list((tmp_path / "spool").iterdir()) == []
