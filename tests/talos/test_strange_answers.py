"""Nodes of a newer version, and nodes that do not use gRPC as Talos does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.talos.conftest import meta

from talops.talos import calling, kinds
from talops.talos.calls.etcd import EtcdMember
from talops.talos.errors import CallFailedError
from talops.talos.membership import member_address
from talops.talos.messages import LARGEST, _length
from talops.talos.wire import common_pb2, cosi_pb2, spec_runtime_pb2, storage_pb2
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from tests.talos.conftest import FakeNode

    from talops.talos.client import Talos


async def test_values_of_a_newer_version(talos: Talos, node: FakeNode) -> None:
    """A stage, a kind of disk and an alarm that this version does not know cause no error."""
    unknown: Any = 99
    spec = spec_runtime_pb2.MachineStatusSpec(stage=unknown)
    resource = cosi_pb2.Resource(spec=cosi_pb2.Spec(proto_spec=spec.SerializeToString()))
    node.on("Get", cosi_pb2.GetResponse(resource=resource))
    status = await talos.resources.find(kinds.MACHINE_STATUS, kinds.MACHINE_ID)
    assert status is not None
    assert (status.stage, status.ready) == ("number 99", False)
    disk = storage_pb2.Disk(device_name="/dev/sda", type=unknown)
    disks = storage_pb2.Disks(metadata=meta(), disks=[disk])
    node.on("Disks", storage_pb2.DisksResponse(messages=[disks]))
    assert [found.type for found in await talos.storage.disks()] == ["number 99"]


async def test_a_spec_that_is_not_one(talos: Talos, node: FakeNode) -> None:
    """The error names the kind and the node."""
    resource = cosi_pb2.Resource(spec=cosi_pb2.Spec(proto_spec=b"\xff\xff"))
    node.on("Get", cosi_pb2.GetResponse(resource=resource))
    with pytest.raises(CallFailedError, match=kinds.MACHINE_STATUS.type) as caught:
        await talos.resources.find(kinds.MACHINE_STATUS, kinds.MACHINE_ID)
    assert caught.value.where == talos.where


async def test_a_node_that_does_not_stop_sending(
    talos: Talos, node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is gathered in memory has a limit."""
    monkeypatch.setattr(calling, "MOST_COLLECTED", 5000)
    node.on("Read", [common_pb2.Data(bytes=b"x" * 1000)] * 10)
    with pytest.raises(CallFailedError, match="does not stop sending"):
        await talos.files.read("/proc/version")


async def test_a_time_beyond_the_calendar(talos: Talos, node: FakeNode) -> None:
    """A file system can have any time; a list of files is not lost because of one."""
    node.on("List", [pb.FileInfo(metadata=meta(), name="a", modified=2**62)])
    assert [file.name async for file in talos.files.list("/")] == ["a"]


def test_the_prefix_of_a_message() -> None:
    """Compressed messages and lengths beyond the limit of talosctl are refused before reading."""
    assert _length(b"\0" + LARGEST.to_bytes(4)) == LARGEST
    with pytest.raises(CallFailedError, match="compressed"):
        _length(b"\x01\0\0\0\x01")
    with pytest.raises(CallFailedError, match="32 MiB"):
        _length(b"\0" + (LARGEST + 1).to_bytes(4))


def test_the_address_of_a_member_that_is_not_one() -> None:
    """An error of talops, which the survey of etcd shows for this member."""
    member = EtcdMember(1, "a", (), ("https://[fd00::1",), learner=False)
    with pytest.raises(CallFailedError, match="not the address"):
        member_address(member)
