"""COSI resources: read, listed, watched, and decoded."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.talos import kinds
from talops.talos.errors import CallFailedError, InvalidRequestError, NotFoundError
from talops.talos.resources import Kind
from talops.talos.wire import (
    common_pb2,
    cosi_meta_pb2,
    cosi_pb2,
    spec_block_pb2,
    spec_cluster_pb2,
    spec_config_pb2,
    spec_etcd_pb2,
    spec_k8s_pb2,
    spec_network_pb2,
    spec_runtime_pb2,
    spec_time_pb2,
    spec_v1alpha1_pb2,
)

if TYPE_CHECKING:
    from tests.talos.conftest import FakeNode

    from talops.talos.client import Talos


def resource(kind: str, id_: str, spec: Any = None, yaml: str = "{}") -> cosi_pb2.Resource:
    raw = spec if isinstance(spec, bytes) else spec.SerializeToString() if spec else b""
    return cosi_pb2.Resource(
        metadata=cosi_pb2.Metadata(
            namespace="n", type=kind, id=id_, version="3", phase="running", labels={"a": "b"}
        ),
        spec=cosi_pb2.Spec(proto_spec=raw, yaml_spec=yaml),
    )


MEMBER = spec_cluster_pb2.MemberSpec(
    node_id="id",
    hostname="cp1",
    addresses=[common_pb2.NetIP(ip=bytes([10, 0, 0, 1])), common_pb2.NetIP(ip=bytes(15) + b"\1")],
    machine_type="TYPE_CONTROL_PLANE",
    operating_system="Talos (v1.13.9)",
)
STATUS = spec_runtime_pb2.MachineStatusSpec(
    stage="MACHINE_STAGE_BOOTING",
    status=spec_runtime_pb2.MachineStatusStatus(
        unmet_conditions=[spec_runtime_pb2.UnmetCondition(name="time", reason="not in sync")]
    ),
)
LINK = spec_network_pb2.LinkStatusSpec(
    hardware_addr=bytes.fromhex("bc2411000001"),
    operational_state="OPER_STATE_UP",
    mtu=1500,
    alias="net0",
)
ADDRESS = spec_network_pb2.AddressStatusSpec(
    address=common_pb2.NetIPPrefix(ip=bytes([10, 0, 0, 1]), prefix_length=24), link_name="net0"
)


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (
            kinds.MEMBERS,
            MEMBER,
            kinds.Member(
                "x",
                "id",
                "cp1",
                (ip_address("10.0.0.1"), ip_address("::1")),
                "control plane",
                "Talos (v1.13.9)",
            ),
        ),
        (
            kinds.MACHINE_STATUS,
            STATUS,
            kinds.MachineStatus("booting", ready=False, unmet=(("time", "not in sync"),)),
        ),
        (
            kinds.DISKS,
            spec_block_pb2.DiskSpec(dev_path="/dev/sda", size=7, serial="S"),
            kinds.BlockDisk(
                "x", "/dev/sda", 7, "", "S", "", "", "", rotational=False, readonly=False,
                cdrom=False,
            ),
        ),
        (
            kinds.LINKS,
            LINK,
            kinds.LinkStatus("x", "net0", "bc:24:11:00:00:01", "", up=True, mtu=1500, kind=""),
        ),
        (kinds.ADDRESSES, ADDRESS, kinds.AddressStatus("x", "10.0.0.1/24", "net0")),
        (
            kinds.SERVICES,
            spec_v1alpha1_pb2.ServiceSpec(running=True, unknown=True),
            kinds.ServiceStatus("x", running=True, healthy=None),
        ),
        (kinds.ETCD_MEMBER, spec_etcd_pb2.MemberSpec(member_id="8e9e"), "8e9e"),
        (kinds.NODENAME, spec_k8s_pb2.NodenameSpec(nodename="cp1"), "cp1"),
        (kinds.HOSTNAME, spec_network_pb2.HostnameStatusSpec(hostname="cp1"), "cp1"),
        (
            kinds.TIME,
            spec_time_pb2.StatusSpec(synced=True),
            kinds.TimeStatus(synced=True, sync_disabled=False),
        ),
        (
            kinds.MACHINE_CONFIG,
            spec_config_pb2.MachineConfigSpec(yaml_marshalled=b"version: v1alpha1\n"),
            "version: v1alpha1\n",
        ),
    ],
    ids=lambda value: value.type if isinstance(value, Kind) else "",
)  # fmt: skip
async def test_decoding(
    talos: Talos, node: FakeNode, kind: Kind[Any], spec: Any, expected: Any
) -> None:
    """The bytes of a spec become the dataclass of its kind."""
    node.on("Get", cosi_pb2.GetResponse(resource=resource(kind.type, "x", spec)))
    assert await talos.resources.find(kind, "x") == expected
    (request,) = node.requests("Get")
    assert (request.namespace, request.type, request.id) == (kind.namespace, kind.type, "x")


async def test_absent_is_not_unreadable(talos: Talos, node: FakeNode) -> None:
    """None means that the node said it does not exist; any other failure is raised."""
    node.on("Get", GRPCError(Status.NOT_FOUND, "doesn't exist"))
    assert await talos.resources.find(kinds.MACHINE_STATUS, "machine") is None
    node.on("Get", GRPCError(Status.INTERNAL, "oops"))
    with pytest.raises(CallFailedError):
        await talos.resources.find(kinds.MACHINE_STATUS, "machine")


async def test_list(talos: Talos, node: FakeNode) -> None:
    """Every resource comes with metadata and its YAML spec as data."""
    items = [resource("T", "a", yaml="size: 5\n"), resource("T", "b", yaml="a: [1\n")]
    node.on("List", [cosi_pb2.ListResponse(resource=item) for item in items])
    a, b = await talos.resources.list("n", "T")
    assert (a.id, a.version, a.labels, a.spec) == ("a", "3", {"a": "b"}, {"size": 5})
    assert b.spec == "a: [1\n"


def watched(kind: int, item: cosi_pb2.Resource | None = None, **more: Any) -> Any:
    return cosi_pb2.Event(event_type=cosi_pb2.EventType.Name(kind), resource=item, **more)


async def test_watch(talos: Talos, node: FakeNode) -> None:
    """Several events may share a message; an failed watch is an error."""
    first = resource("T", "a")
    node.on(
        "Watch",
        [
            cosi_pb2.WatchResponse(event=[watched(0, first), watched(3)]),
            cosi_pb2.WatchResponse(event=[watched(5), watched(1, first, old=first)]),
            cosi_pb2.WatchResponse(event=[watched(4, error="buffer overrun")]),
        ],
    )
    watch = talos.resources.watch("n", "T")
    seen = [await anext(watch), await anext(watch), await anext(watch)]
    with pytest.raises(CallFailedError, match="buffer overrun"):
        await anext(watch)
    assert [c.event for c in seen] == ["created", "bootstrapped", "updated"]
    assert seen[2].old is not None
    (request,) = node.requests("Watch")
    assert request.options.bootstrap_contents
    assert not request.HasField("id")


def definition(type_: str, *aliases: str) -> Any:
    spec = cosi_meta_pb2.ResourceDefinitionSpec(
        resource_type=type_,
        default_namespace="cluster",
        all_aliases=aliases,
        print_columns=[
            cosi_meta_pb2.ResourceDefinitionSpec.PrintColumn(name="Hostname", json_path="{.h}")
        ],
    )
    return cosi_pb2.ListResponse(resource=resource("rd", type_.lower(), spec))


async def test_resolve(talos: Talos, node: FakeNode) -> None:
    """A kind answers to its type and aliases in any case; the node is asked only once."""
    node.on(
        "List",
        [
            definition("Members.cluster.talos.dev", "members", "member"),
            definition("Disks.block.talos.dev", "disk", "d"),
            definition("Dmesg.x.talos.dev", "d"),
        ],
    )
    for name in ("members", "Member", "members.cluster.TALOS.dev"):
        found = await talos.resources.resolve(name)
        assert (found.type, found.namespace) == ("Members.cluster.talos.dev", "cluster")
    assert found.columns == (("Hostname", "{.h}"),)
    with pytest.raises(NotFoundError, match="no kind of resource"):
        await talos.resources.resolve("nonsense")
    with pytest.raises(InvalidRequestError, match="can mean"):
        await talos.resources.resolve("d")
    assert len(node.requests("List")) == 1
