"""A backup after etcd has lost its majority: what is left of it, the newest that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.backups.site import Lab, three_planes
from tests.talos.conftest import data

from talops.app.backups import keeping
from talops.backups.making.survivors import DATABASE
from talops.backups.restoring import BackupSource
from talops.errors import ConflictError, TalopsError
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DIGEST = 32
# As Talos answers while its etcd does not run.
DOWN = GRPCError(Status.FAILED_PRECONDITION, "etcd is not running")


@pytest.fixture
async def lab(tmp_path: Path, snapshot: bytes) -> AsyncIterator[Lab]:
    """cp-1 lost its disk; cp-2 and cp-3 have data, and cp-2 has no leader."""
    async with three_planes(tmp_path / "site") as made:
        for name in made.nodes:
            made.answers(name, snapshot, leader=0)
            made.nodes[name].on("Read", data(snapshot[:-DIGEST]))
        has_data(made, "cp-2", "cp-3")
        made.nodes["cp-3"].on("EtcdStatus", DOWN)
        made.nodes["cp-3"].on("EtcdSnapshot", DOWN)
        yield made


def has_data(lab: Lab, *names: str) -> None:
    entry = pb.FileInfo(name="/var/lib/etcd/member", relative_name="member")
    for name, node in lab.nodes.items():
        node.on("List", [entry] if name in names else [])


async def create(lab: Lab, said: list[str] | None = None) -> Any:
    told = (said if said is not None else []).append
    return await keeping.create(lab.site(), told, without_majority=True)


async def test_a_member_without_a_leader_sends_a_snapshot(lab: Lab, snapshot: bytes) -> None:
    """It has a digest, which the file of the other one has not; both have the same revision."""
    made = await create(lab)
    assert (made.source, made.snapshot.copied, made.snapshot.survivor) == ("cp-2", False, True)
    assert made.snapshot.size == len(snapshot)
    assert lab.nodes["cp-1"].requests("Read") == lab.nodes["cp-2"].requests("Read") == []
    assert [request.path for request in lab.nodes["cp-3"].requests("Read")] == [DATABASE]
    assert lab.stored() == [f"{made.id}.age", f"{made.id}.json"]


async def test_the_file_of_a_member_is_a_backup(lab: Lab, snapshot: bytes) -> None:
    """Whole by what can be read of it; a restore does not ask etcd for its digest, and says so."""
    has_data(lab, "cp-3")
    made = await create(lab)
    assert (made.source, made.snapshot.copied) == ("cp-3", True)
    assert made.snapshot.size == len(snapshot) - DIGEST
    assert made.kinds["pods"].count == 12
    (proof,) = await keeping.proofs(lab.site(), [], lambda _: None)
    assert proof.error is None
    source = BackupSource(lab.site(), "latest")
    await source.prepare()
    assert source.skip_hash_check
    assert "etcd cannot check its digest" in source.name
    async with source.opened() as pieces:
        assert b"".join(pieces) == snapshot[:-DIGEST]


async def test_a_database_that_cannot_be_read_is_not_kept(lab: Lab, snapshot: bytes) -> None:
    """The snapshot breaks off, the file is damaged: the other member's is used, then none."""
    lab.nodes["cp-2"].on("EtcdSnapshot", data(snapshot[:5000]))
    torn = snapshot[:8192] + bytes(len(snapshot) - 8192 - DIGEST)
    lab.nodes["cp-2"].on("Read", data(torn))
    said: list[str] = []
    made = await create(lab, said)
    assert (made.source, made.snapshot.copied) == ("cp-3", True)
    assert "copying its database file" in said[0]
    assert "cp-2: the etcd database is damaged" in said[1]
    lab.nodes["cp-3"].on("Read", data(torn))
    with pytest.raises(TalopsError, match="no control plane has a database that can be read"):
        await create(lab)
    assert lab.stored() == [f"{made.id}.age", f"{made.id}.json"]


async def test_a_majority_is_asked_for_a_snapshot_instead(lab: Lab, snapshot: bytes) -> None:
    """One member with a leader is enough; without any data there is nothing to back up."""
    lab.answers("cp-2", snapshot, leader=1)
    with pytest.raises(ConflictError, match="etcd has a leader"):
        await create(lab)
    has_data(lab)
    with pytest.raises(TalopsError, match="no control plane that answers has etcd data"):
        await create(lab)
    assert lab.stored() == []
