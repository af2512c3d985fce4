"""etcd through a node: its members, and its data to a file and back."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.talos.conftest import data

from talops.errors import TalopsError
from talops.talos.errors import NodeDownError, PreconditionError
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from pathlib import Path

    from tests.talos.conftest import FakeNode

    from talops.talos.client import Talos


async def test_etcd_members_and_status(talos: Talos, node: FakeNode) -> None:
    """Members, status and alarms come as plain values."""
    member = pb.EtcdMember(id=2**63 + 1, hostname="cp1", peer_urls=["https://10.0.0.1:2380"])
    node.on(
        "EtcdMemberList", pb.EtcdMemberListResponse(messages=[pb.EtcdMembers(members=[member])])
    )
    state = pb.EtcdMemberStatus(member_id=7, leader=7, db_size=10, errors=["slow"])
    node.on("EtcdStatus", pb.EtcdStatusResponse(messages=[pb.EtcdStatus(member_status=state)]))
    alarm = pb.EtcdMemberAlarm(member_id=7, alarm="NOSPACE")
    node.on(
        "EtcdAlarmList", pb.EtcdAlarmListResponse(messages=[pb.EtcdAlarm(member_alarms=[alarm])])
    )
    (got,) = await talos.etcd.members(local=True)
    assert (got.id, got.hostname, got.learner) == (2**63 + 1, "cp1", False)
    assert node.requests("EtcdMemberList")[0].query_local
    status = await talos.etcd.status()
    assert (status.member_id, status.db_size, status.errors) == (7, 10, ("slow",))
    assert [(a.member_id, a.alarm) for a in await talos.etcd.alarms()] == [(7, "NOSPACE")]


async def test_etcd_leaving(talos: Talos, node: FakeNode) -> None:
    """Leaving, forfeiting and removing are sent once each, with the right member."""
    node.on("EtcdLeaveCluster", pb.EtcdLeaveClusterResponse(messages=[pb.EtcdLeaveCluster()]))
    forfeit = pb.EtcdForfeitLeadership(member="cp2")
    node.on("EtcdForfeitLeadership", pb.EtcdForfeitLeadershipResponse(messages=[forfeit]))
    node.on(
        "EtcdRemoveMemberByID",
        pb.EtcdRemoveMemberByIDResponse(messages=[pb.EtcdRemoveMemberByID()]),
    )
    await talos.etcd.leave()
    assert await talos.etcd.forfeit_leadership() == "cp2"
    await talos.etcd.remove_member(9)
    assert node.requests("EtcdRemoveMemberByID")[0].member_id == 9


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def snapshot_bytes(size: int = 4096) -> bytes:
    database = bytes(i % 251 for i in range(size))
    return database + hashlib.sha256(database).digest()


async def test_snapshot_to_file(talos: Talos, node: FakeNode, tmp_path: Path) -> None:
    """A snapshot lands whole, private and with its digest checked; recover sends it back."""
    whole = snapshot_bytes()
    node.on("EtcdSnapshot", data(whole[:100], whole[100:4100], whole[4100:]))
    saved = await talos.etcd.snapshot(tmp_path / "backup" / "etcd.snapshot")
    assert saved.path.read_bytes() == whole
    assert saved.path.stat().st_mode & 0o777 == 0o600
    assert (saved.size, saved.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())
    node.on("EtcdRecover", pb.EtcdRecoverResponse(messages=[pb.EtcdRecover()]))
    await talos.etcd.recover(saved.path)
    assert b"".join(part.bytes for part in node.requests("EtcdRecover")[0]) == whole


@pytest.mark.parametrize("spoil", [lambda w: w[:-1], lambda w: b"x" + w[1:], lambda _: b""])
async def test_damaged_snapshot(talos: Talos, node: FakeNode, tmp_path: Path, spoil: Any) -> None:
    """A snapshot that was truncated or changed in transit leaves no file."""
    node.on("EtcdSnapshot", data(spoil(snapshot_bytes())))
    with pytest.raises(TalopsError, match="damaged or truncated"):
        await talos.etcd.snapshot(tmp_path / "backup" / "etcd.snapshot")
    assert names_in(tmp_path / "backup") == []


async def test_failed_snapshot_leaves_nothing(talos: Talos, node: FakeNode, tmp_path: Path) -> None:
    """An error during the stream leaves the old file as it was."""
    target = tmp_path / "etcd.snapshot"
    target.write_bytes(b"old")
    node.on("EtcdSnapshot", GRPCError(Status.UNAVAILABLE, "etcd is down"))
    with pytest.raises(NodeDownError, match="etcd is down"):
        await talos.etcd.snapshot(target)
    assert target.read_bytes() == b"old"


async def test_recover_refused(talos: Talos, node: FakeNode, tmp_path: Path) -> None:
    """A node that refuses an upload says why."""
    (tmp_path / "s").write_bytes(snapshot_bytes())
    node.on("EtcdRecover", GRPCError(Status.FAILED_PRECONDITION, "etcd service is running"))
    with pytest.raises(TalopsError, match="etcd service is running"):
        await talos.etcd.recover(tmp_path / "s")


async def test_a_member_that_has_not_joined(
    talos: Talos, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never answers, and the call never fails: "not yet", soon and with a reason."""

    async def hang(_: object, __: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("talops.talos.calls.etcd.QUICK", 0.2)
    for method, ask in (
        ("EtcdMemberList", talos.etcd.members),
        ("EtcdStatus", talos.etcd.status),
        ("EtcdAlarmList", talos.etcd.alarms),
    ):
        node.on(method, hang)
        with pytest.raises(PreconditionError, match="may not have joined yet") as caught:
            await ask()
        assert caught.value.hint
