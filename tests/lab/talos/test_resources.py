"""COSI resources of a node, as clients read and watch them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.lab.talos.cluster_files import to_yaml
from tests.lab.talos.harness import Lab, until

from talops.talos.wire import (
    cosi_meta_pb2,
    cosi_pb2,
    spec_block_pb2,
    spec_cluster_pb2,
    spec_config_pb2,
    spec_enums_pb2,
    spec_runtime_pb2,
)
from talops.talos.wire.cosi_grpc import StateStub
from talops.talos.wire.machine_pb2 import MetaDeleteRequest, MetaWriteRequest, RebootRequest

if TYPE_CHECKING:
    from pathlib import Path

STATUS: dict[str, Any] = {
    "namespace": "runtime",
    "type": "MachineStatuses.runtime.talos.dev",
    "id": "machine",
}
MEMBERS: dict[str, Any] = {"namespace": "cluster", "type": "Members.cluster.talos.dev"}
CONFIG: dict[str, Any] = {
    "namespace": "config",
    "type": "MachineConfigs.config.talos.dev",
    "id": "v1alpha1",
}


async def _none(name: str) -> Path:
    raise AssertionError(name)


async def up(lab: Lab, *names: str) -> None:
    await lab.start(*names)
    for name in names:
        await lab.configure(name)
    await lab.up(*names)


async def test_status_and_disks_in_maintenance(lab: Lab) -> None:
    """A node without a config already says what it is and has."""
    await lab.start("w-1")
    await lab.listening("w-1")
    state = StateStub(lab.channel("w-1", maintenance=True))
    reply = await state.Get(cosi_pb2.GetRequest(**STATUS))
    spec = spec_runtime_pb2.MachineStatusSpec.FromString(reply.resource.spec.proto_spec)
    assert spec.stage == spec_enums_pb2.MACHINE_STAGE_MAINTENANCE
    assert "stage: maintenance" in reply.resource.spec.yaml_spec
    listing = cosi_pb2.ListRequest(namespace="runtime", type="Disks.block.talos.dev")
    disks = [
        spec_block_pb2.DiskSpec.FromString(r.resource.spec.proto_spec)
        for r in await state.List(listing)
    ]
    assert [(d.dev_path, d.serial, d.cdrom) for d in disks] == [
        ("/dev/sda", "disk-1", False),
        ("/dev/sr0", "", True),
    ]


async def test_members_are_discovered(lab: Lab) -> None:
    """Every node of a cluster sees every other, with addresses as raw bytes."""
    await up(lab, "cp-1", "w-1")
    replies = await StateStub(lab.channel("w-1")).List(cosi_pb2.ListRequest(**MEMBERS))
    found = [spec_cluster_pb2.MemberSpec.FromString(r.resource.spec.proto_spec) for r in replies]
    assert [(m.hostname, m.machine_type, m.HasField("control_plane")) for m in found] == [
        ("cp-1", 2, True),
        ("w-1", 3, False),
    ]
    packed = bytes(int(part) for part in lab.address("cp-1").split("."))
    assert found[0].addresses[0].ip == packed


@pytest.mark.parametrize(("config", "found"), [({"enabled": True}, ["cp-1"]), ({}, [])])
async def test_members_without_a_discovery_service(
    tmp_path: Path, config: dict[str, Any], found: list[str]
) -> None:
    """Each node lists only itself, as recorded; with discovery off in its config not even that."""
    lab = Lab(tmp_path, _none, discovery=False)
    try:
        await lab.start("cp-1", "cp-2")
        for name in lab.machines:
            documents = lab.files.documents("controlplane", name)
            documents[0]["cluster"]["discovery"] = config
            await lab.apply(name, to_yaml(documents))
        await lab.up(*lab.machines)
        replies = await StateStub(lab.channel("cp-1")).List(cosi_pb2.ListRequest(**MEMBERS))
        assert [reply.resource.metadata.id for reply in replies] == found
    finally:
        await lab.close()


async def test_kinds_can_be_looked_up(lab: Lab) -> None:
    """The definition of a kind names its aliases and columns; secrets are marked."""
    await up(lab, "cp-1")
    state = StateStub(lab.channel("cp-1"))
    kind: dict[str, Any] = {"namespace": "meta", "type": "ResourceDefinitions.meta.cosi.dev"}
    request = cosi_pb2.GetRequest(**kind, id="members.cluster.talos.dev")
    reply = await state.Get(request)
    raw = reply.resource.spec.proto_spec
    definition = cosi_meta_pb2.ResourceDefinitionSpec.FromString(raw)
    assert {"member", "members"} <= set(definition.all_aliases)
    assert [c.name for c in definition.print_columns][:2] == ["Hostname", "Machine Type"]
    for answer in await state.List(cosi_pb2.ListRequest(**kind)):
        assert answer.resource.spec.yaml_spec


async def test_config_is_for_administrators(lab: Lab) -> None:
    """Readers see the node, not its secrets; no role can write."""
    await up(lab, "cp-1")
    admin, reader = StateStub(lab.channel("cp-1")), StateStub(lab.channel("cp-1", "os:reader"))
    reply = await admin.Get(cosi_pb2.GetRequest(**CONFIG))
    spec = spec_config_pb2.MachineConfigSpec.FromString(reply.resource.spec.proto_spec)
    assert spec.yaml_marshalled == lab.files.config("controlplane", "cp-1")
    with pytest.raises(GRPCError) as refused:
        await reader.Get(cosi_pb2.GetRequest(**CONFIG))
    assert refused.value.status is Status.PERMISSION_DENIED
    with pytest.raises(GRPCError) as refused:
        await admin.Create(cosi_pb2.CreateRequest())
    assert refused.value.status is Status.PERMISSION_DENIED
    with pytest.raises(GRPCError) as refused:
        await admin.Get(cosi_pb2.GetRequest(**{**CONFIG, "id": "nothing"}))
    assert refused.value.status is Status.NOT_FOUND


async def test_watch_sees_the_reboot(lab: Lab) -> None:
    """A watch begins with an empty message and the present state, then follows."""
    await up(lab, "cp-1")
    async with StateStub(lab.channel("cp-1")).Watch.open() as stream:
        await stream.send_message(cosi_pb2.WatchRequest(**STATUS, api_version=1), end=True)
        hello = await stream.recv_message()
        assert hello is not None
        assert not hello.event
        first = await stream.recv_message()
        assert first is not None
        assert first.event[0].event_type == cosi_pb2.CREATED
        await lab.api("cp-1").Reboot(RebootRequest())
        second = await stream.recv_message()
        assert second is not None
        assert second.event[0].event_type == cosi_pb2.UPDATED
        assert "stage: rebooting" in second.event[0].resource.spec.yaml_spec
        assert "stage: booting" in second.event[0].old.spec.yaml_spec
        await stream.cancel()


async def test_watch_of_a_kind_with_its_contents(lab: Lab) -> None:
    """What is there comes first, then a marker, then what is new."""
    await up(lab, "cp-1")
    options = cosi_pb2.WatchOptions(bootstrap_contents=True)
    async with StateStub(lab.channel("cp-1")).Watch.open() as stream:
        request = cosi_pb2.WatchRequest(**MEMBERS, options=options, api_version=1)
        await stream.send_message(request, end=True)
        seen: list[tuple[int, str]] = []
        while len(seen) < 3:
            message = await stream.recv_message()
            assert message is not None
            seen += [(e.event_type, e.resource.metadata.id) for e in message.event]
            if seen and seen[-1][0] == cosi_pb2.BOOTSTRAPPED:
                await lab.start("w-1")
                await lab.configure("w-1")
        await stream.cancel()
    assert seen == [
        (cosi_pb2.CREATED, "cp-1"),
        (cosi_pb2.BOOTSTRAPPED, ""),
        (cosi_pb2.CREATED, "w-1"),
    ]


async def test_meta_values(lab: Lab) -> None:
    """What is written to META shows as a resource, until it is deleted."""
    await up(lab, "cp-1")
    await lab.api("cp-1").MetaWrite(MetaWriteRequest(key=10, value=b"rack 7"))
    key = cosi_pb2.GetRequest(namespace="runtime", type="MetaKeys.runtime.talos.dev", id="0x0a")
    reply = await until(partial(StateStub(lab.channel("cp-1")).Get, key))
    assert "value: rack 7" in reply.resource.spec.yaml_spec
    await lab.api("cp-1").MetaDelete(MetaDeleteRequest(key=10))
    with pytest.raises(GRPCError) as refused:
        await lab.api("cp-1").MetaDelete(MetaDeleteRequest(key=10))
    assert refused.value.status is Status.NOT_FOUND
