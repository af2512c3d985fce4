"""Taking a backup: encrypted as it arrives, proven before it counts, nothing left of a failure."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import io
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.backups.site import KEY, Lab, three_planes, write_site
from tests.talos.conftest import data

from talops.app.backups import keeping
from talops.backups.making import taking
from talops.errors import TalopsError
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.age_stream import AgeReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def lab(tmp_path: Path, snapshot: bytes) -> AsyncIterator[Lab]:
    async with three_planes(tmp_path / "site") as made:
        for name in made.nodes:
            made.answers(name, snapshot)
        yield made


async def create(lab: Lab, said: list[str] | None = None) -> Any:
    return await keeping.create(lab.site(), (said if said is not None else []).append)


async def test_what_is_stored(lab: Lab, snapshot: bytes) -> None:
    """The snapshot for our key, byte by byte, and a manifest that says what is in it."""
    made = await create(lab)
    assert lab.stored() == [f"{made.id}.age", f"{made.id}.json"]
    assert {(lab.store / n).stat().st_mode & 0o777 for n in lab.stored()} == {0o600}
    sealed = (lab.store / f"{made.id}.age").read_bytes()
    reader = AgeReader(io.BytesIO(sealed), KeyRing((KEY,)), "")
    assert b"".join(reader.pieces()) == snapshot
    assert made.source == "cp-2", "not the leader, which has work"
    assert made.kinds["pods"].count == 12
    assert (made.versions.talos, made.versions.etcd) == ("v1.14.1", "3.7.1")
    assert {reference.file for reference in made.inventory} == {"cluster.yaml", "nodes.yaml"}
    text = (lab.store / f"{made.id}.json").read_text()
    assert "/registry/" not in text, "names of objects are not for everybody"
    listed = await keeping.listed(lab.site())
    assert [(b.id, b.usable) for b in listed] == [(made.id, True)]
    (proof,) = await keeping.proofs(lab.site(), [], lambda _: None)
    assert (proof.id, proof.error) == (made.id, None)


def half(snapshot: bytes) -> Any:
    return data(snapshot[: len(snapshot) // 2])


def flipped(snapshot: bytes) -> Any:
    return data(snapshot[:5000] + bytes([snapshot[5000] ^ 1]) + snapshot[5001:])


def no_database(_: bytes) -> Any:
    junk = b"junk" * 4096
    return data(junk + hashlib.sha256(junk).digest())


def lost(_: bytes) -> Any:
    return GRPCError(Status.UNAVAILABLE, "etcd is down")


@pytest.mark.parametrize("spoil", [half, flipped, lost])
async def test_another_control_plane_is_asked(lab: Lab, snapshot: bytes, spoil: Any) -> None:
    """What the first one sends is dropped, and what is stored is whole."""
    lab.nodes["cp-2"].on("EtcdSnapshot", spoil(snapshot))
    said: list[str] = []
    made = await create(lab, said)
    assert made.source == "cp-3"
    assert "trying cp-3" in said[0]
    (proof,) = await keeping.proofs(lab.site(), [], lambda _: None)
    assert proof.error is None


@pytest.mark.parametrize("spoil", [half, flipped, lost, no_database])
async def test_nothing_remains_of_a_failure(lab: Lab, snapshot: bytes, spoil: Any) -> None:
    """And the backup of before is unchanged."""
    before = await create(lab)
    for node in lab.nodes.values():
        node.on("EtcdSnapshot", spoil(snapshot))
    with pytest.raises(TalopsError):
        await create(lab)
    assert lab.stored() == [f"{before.id}.age", f"{before.id}.json"]
    (proof,) = await keeping.proofs(lab.site(), ["latest"], lambda _: None)
    assert (proof.id, proof.error) == (before.id, None)


async def test_a_stream_that_stops_is_not_waited_for(
    lab: Lab, snapshot: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next control plane is asked."""
    monkeypatch.setattr(taking, "PATIENCE", 0.2)

    async def stops(request: Any, stream: Any) -> None:
        await stream.send_message(data(snapshot[:1000])[0])
        await asyncio.Event().wait()

    lab.nodes["cp-2"].on("EtcdSnapshot", stops)
    said: list[str] = []
    assert (await create(lab, said)).source == "cp-3"
    assert "did not continue within 0.2 s" in said[0]


async def test_members_that_are_not_healthy_are_not_asked(lab: Lab, snapshot: bytes) -> None:
    """A learner, one without a leader, one with an alarm, one far behind."""
    lab.answers("cp-1", snapshot, raft_applied_index=90_000, errors=["no space"])
    lab.answers("cp-2", snapshot, is_learner=True)
    assert (await create(lab)).source == "cp-3"
    lab.answers("cp-1", snapshot, raft_applied_index=90_000)
    assert (await create(lab)).source == "cp-1", "the leader has what cp-3 lacks"
    for name in lab.nodes:
        lab.answers(name, snapshot, leader=0)
    with pytest.raises(TalopsError, match="no control plane has a healthy etcd"):
        await create(lab)


@pytest.mark.parametrize("after", [0, 100, 20_000, 60_000])
async def test_a_full_disk(lab: Lab, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """At any byte: one clear error, no retry at another node, the last good backup unchanged."""
    before = await create(lab)
    limit_writes(monkeypatch, after)
    with pytest.raises(TalopsError, match="No space left on device") as caught:
        await create(lab)
    assert "earlier backups are unchanged" in str(caught.value.hint)
    assert lab.stored() == [f"{before.id}.age", f"{before.id}.json"]
    asked = [len(node.requests("EtcdSnapshot")) for node in lab.nodes.values()]
    assert asked == [0, 2, 0]


def limit_writes(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Fail like a full disk once so many bytes were written."""
    real = os.fdopen

    class Small(io.FileIO):
        written = 0

        def write(self, data: Any) -> int:
            Small.written += len(data)
            if Small.written > after:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(data)

    def fdopen(handle: int, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if mode != "w+b":
            return real(handle, mode, *rest, **more)
        return io.BufferedRandom(Small(handle, "r+"))

    monkeypatch.setattr(os, "fdopen", fdopen)


async def test_who_cannot_read_does_not_encrypt(lab: Lab) -> None:
    """A backup for others' keys alone could not be proven here."""
    with pytest.raises(TalopsError, match="none of the age keys"):
        await keeping.create(lab.site(KeyRing((AgeKey.generate(),))), print)
    assert lab.stored() == []


async def test_stored_backups_that_were_damaged(lab: Lab, tmp_path: Path) -> None:
    """Each is named with its reason; the good one stays the latest."""
    good = await create(lab)
    data_file, manifest_file = (lab.store / f"{good.id}{end}" for end in (".age", ".json"))
    sealed, manifest = data_file.read_bytes(), json.loads(manifest_file.read_text())

    async def proven() -> str:
        (proof,) = await keeping.proofs(lab.site(), [], lambda _: None)
        return proof.error.what if proof.error else ""

    data_file.write_bytes(sealed[:-1])
    assert "bytes instead of" in await proven()
    data_file.write_bytes(sealed[:500] + bytes([sealed[500] ^ 4]) + sealed[501:])
    assert "changed or is damaged" in await proven()
    data_file.write_bytes(sealed)
    manifest["content"]["kinds"]["pods"]["count"] = 11
    manifest_file.write_text(json.dumps(manifest))
    assert "changed after it was signed" in await proven()
    manifest_file.write_text("{")
    assert "not a signed document" in await proven()
    manifest_file.unlink()
    assert await keeping.listed(lab.site()) == [], "without a manifest it is not a backup"
    assert lab.stored() == [data_file.name]


async def test_a_backup_of_another_cluster(lab: Lab, tmp_path: Path) -> None:
    """Signed with other secrets: refused before anything is decrypted."""
    made = await create(lab)
    write_site(tmp_path / "other", other=1)
    other = Lab(tmp_path / "other", lab.planes)
    other.store.parent.mkdir()
    lab.store.rename(other.store)
    (proof,) = await keeping.proofs(other.site(), [made.id], lambda _: None)
    assert proof.error is not None
    assert "belongs to another cluster" in proof.error.what


async def test_a_key_that_was_lost(lab: Lab) -> None:
    """The backup is not called damaged: the key is named."""
    made = await create(lab)
    stranger = AgeKey.generate()
    (proof,) = await keeping.proofs(lab.site(KeyRing((stranger,))), [made.id], lambda _: None)
    assert proof.error is not None
    assert "encrypted for other age keys than" in proof.error.what
