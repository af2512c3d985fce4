"""What happens to a cluster later: reboot, reset, upgrade, loss, restore."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.lab.talos.harness import until

from talops.lab.talos.machine.faults import Faults
from talops.lab.talos.machine.stages import Stage
from talops.talos.wire import image_pb2, lifecycle_pb2
from talops.talos.wire.common_pb2 import Data
from talops.talos.wire.image_grpc import ImageServiceStub
from talops.talos.wire.lifecycle_grpc import LifecycleServiceStub
from talops.talos.wire.machine_pb2 import (
    ApplyConfigurationRequest,
    BootstrapRequest,
    EtcdForfeitLeadershipRequest,
    EtcdMemberListRequest,
    EtcdRemoveMemberByIDRequest,
    EtcdSnapshotRequest,
    RebootRequest,
    ResetRequest,
    ShutdownRequest,
    UpgradeRequest,
)

if TYPE_CHECKING:
    from tests.lab.talos.harness import Lab

pytestmark = pytest.mark.slow
INSTALLER = "factory.talos.dev/nocloud-installer/" + "a" * 64 + ":v1.13.10"


async def rebooted(lab: Lab, name: str, boot: str) -> None:
    async def again() -> bool:
        return lab.node(name).boot_id != boot

    await until(again)


async def members(lab: Lab, name: str) -> set[str]:
    reply = await lab.api(name).EtcdMemberList(EtcdMemberListRequest())
    return {m.hostname for m in reply.messages[0].members}


async def kubernetes(lab: Lab, path: str) -> dict[str, Any]:
    api = lab.host.fabric.kube_api(lab.files.id)
    assert api is not None
    return await api.get(path) or {}


def ready_of(node: dict[str, Any]) -> str:
    found = node.get("status", {}).get("conditions", [])
    return str(next((c["status"] for c in found if c["type"] == "Ready"), None))


async def _voters(lab: Lab, names: set[str]) -> bool:
    reply = await lab.api("cp-1").EtcdMemberList(EtcdMemberListRequest())
    found = reply.messages[0].members
    return {m.hostname for m in found if not m.is_learner} == names


async def test_shutdown_tells_the_hypervisor(real_lab: Lab) -> None:
    """A guest that switches itself off does not boot again."""
    told: list[str] = []

    class Power:
        async def guest_powered_off(self, uuid: str) -> None:
            told.append(uuid)

    real_lab.host.power = Power()
    await real_lab.start("cp-1")
    await real_lab.configure("cp-1")
    await real_lab.up("cp-1")
    await real_lab.api("cp-1").Shutdown(ShutdownRequest())

    async def off() -> bool:
        return told == [real_lab.machines["cp-1"].uuid]

    await until(off)
    assert not real_lab.node("cp-1").addresses


@pytest.mark.sampled("nodes of the lab")
async def test_two_members_refuse_the_old_upgrade(lean_lab: Lab) -> None:
    """Two members would lose quorum; the new dialect leaves that to the caller."""
    names = {"cp-1", "cp-2"}
    await lean_lab.start(*sorted(names))
    for name in names:
        await lean_lab.configure(name)
    await lean_lab.bootstrap("cp-1")
    await until(partial(_voters, lean_lab, names))
    with pytest.raises(GRPCError, match="insufficient to maintain quorum"):
        await lean_lab.api("cp-1").Upgrade(UpgradeRequest(image=INSTALLER))


@pytest.mark.sampled("nodes of the lab")
async def test_three_members_come_and_go(lean_lab: Lab) -> None:
    """One cluster through a lost network, lost power, a reset, and a machine that never returns."""
    lab, names = lean_lab, ["cp-1", "cp-2", "cp-3"]
    await lab.cluster(*names)
    await until(partial(_voters, lab, set(names)))
    await _loses_a_member_for_a_while(lab)
    await _etcd_ends_and_comes_back(lab)
    await _leadership_moves(lab)
    await _another_takes_over_the_api(lab)
    await until(partial(_voters, lab, set(names)))
    await _one_leaves_and_returns(lab)
    await _one_is_gone_for_good(lab)


async def _members_are(lab: Lab, names: set[str]) -> bool:
    """Asked again while etcd has no leader."""
    return await members(lab, "cp-1") == names


async def _loses_a_member_for_a_while(lab: Lab) -> None:
    """Etcd goes on without the member whose network is lost, and takes it back."""
    etcd = lab.node("cp-1").control_plane.etcd
    assert etcd is not None
    lab.host.faults.set("cp-3", Faults(network_lost=True))

    async def lost() -> bool:
        return lab.node("cp-3").apid.cut_off

    await until(lost)
    await until(etcd.client.healthy)
    reader, writer = await asyncio.open_connection(lab.address("cp-3"), 2379)
    writer.write(b"no TLS at all")  # a living etcd ends this at once
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(), 0.5)
    writer.close()
    lab.host.faults.clear("cp-3")
    member = lab.node("cp-3").control_plane.etcd
    assert member is not None
    await until(member.client.healthy)


async def _etcd_ends_and_comes_back(lab: Lab) -> None:
    """Its machine still answers, and says that its etcd does not."""
    lab.host.faults.set("cp-3", Faults(etcd_lost=True))

    async def unhealthy() -> bool:
        service = lab.node("cp-3").services.get("etcd")
        return service is not None and service.healthy is False

    await until(unhealthy)
    with pytest.raises(GRPCError) as refused:
        await lab.api("cp-3").EtcdStatus(Empty())
    assert refused.value.status is Status.UNAVAILABLE
    lab.host.faults.set("cp-3", Faults(etcd_slow=True))

    async def answers() -> bool:
        return bool(await lab.api("cp-3").EtcdStatus(Empty()))

    await until(answers)
    lab.host.faults.clear("cp-3")
    await lab.ready("cp-3")


async def _leadership_moves(lab: Lab) -> None:
    moved = []
    for name in lab.machines:
        forfeit = partial(lab.api(name).EtcdForfeitLeadership, EtcdForfeitLeadershipRequest())
        moved.append((await until(forfeit)).messages[0].member)
    assert any(moved)


async def _another_takes_over_the_api(lab: Lab) -> None:
    """A lean lab has one API server, and another starts one when its machine goes."""

    def serving() -> list[str]:
        return [n for n in lab.machines if lab.host.node(n) and lab.node(n).control_plane.api_ready]

    (first,) = serving()
    await lab.host.power_off(lab.machines[first].uuid, graceful=False)

    async def taken_over() -> bool:
        return bool(serving()) and serving() != [first]

    await until(taken_over)
    await lab.host.power_on(lab.machines[first])


async def _one_leaves_and_returns(lab: Lab) -> None:
    await lab.api("cp-3").Reset(ResetRequest(graceful=True, reboot=True))
    await lab.stage("cp-3", Stage.MAINTENANCE)
    await until(partial(_members_are, lab, {"cp-1", "cp-2"}))
    await lab.configure("cp-3")
    await lab.ready("cp-3")
    await until(partial(_members_are, lab, {"cp-1", "cp-2", "cp-3"}))


async def _one_is_gone_for_good(lab: Lab) -> None:
    """A member can be taken out by its id, once."""
    await lab.host.destroy(lab.machines["cp-3"].uuid)
    listing = await until(partial(lab.api("cp-1").EtcdMemberList, EtcdMemberListRequest()))
    gone = next(m.id for m in listing.messages[0].members if m.hostname == "cp-3")
    remove = partial(
        lab.api("cp-1").EtcdRemoveMemberByID, EtcdRemoveMemberByIDRequest(member_id=gone)
    )
    await until(remove)
    await until(partial(_members_are, lab, {"cp-1", "cp-2"}))
    with pytest.raises(GRPCError) as refused:
        await remove()
    assert refused.value.status is Status.NOT_FOUND


@pytest.mark.sampled("nodes of the lab")
async def test_one_control_plane_day_by_day(real_lab: Lab) -> None:
    """One cluster through new labels, a lost worker, a node that is not ready, and two upgrades."""
    await real_lab.cluster("cp-1", "w-1")
    with pytest.raises(GRPCError) as refused:
        await real_lab.api("cp-1").Bootstrap(BootstrapRequest())
    assert refused.value.status is Status.ALREADY_EXISTS
    assert refused.value.message == "etcd data directory is not empty"
    await _new_labels_and_kubelet_without_reboot(real_lab)
    await _lost_machine_becomes_unknown(real_lab)
    await _never_ready_until_the_fault_is_gone(real_lab)
    await _both_dialects_of_upgrade(real_lab)


async def _new_labels_and_kubelet_without_reboot(lab: Lab) -> None:
    boot = lab.node("cp-1").boot_id
    config = lab.files.config(
        "controlplane", "cp-1", nodeLabels={"zone": "b"},
        kubelet={"image": "ghcr.io/siderolabs/kubelet:v1.36.4"},
    )  # fmt: skip
    request = ApplyConfigurationRequest(data=config, mode=ApplyConfigurationRequest.AUTO)
    await lab.api("cp-1").ApplyConfiguration(request)

    async def seen() -> bool:
        node = await kubernetes(lab, "/api/v1/nodes/cp-1")
        version = node["status"]["nodeInfo"]["kubeletVersion"]
        return bool(node["metadata"]["labels"].get("zone") == "b" and version == "v1.36.4")

    await until(seen)
    assert lab.node("cp-1").boot_id == boot


async def _ready_is(lab: Lab, name: str, wanted: str) -> bool:
    return ready_of(await kubernetes(lab, f"/api/v1/nodes/{name}")) == wanted


async def _lost_machine_becomes_unknown(lab: Lab) -> None:
    """Kubernetes notices a node that lost its power, and its return."""
    assert await _ready_is(lab, "w-1", "True")
    await lab.host.power_off(lab.machines["w-1"].uuid, graceful=False)
    await until(partial(_ready_is, lab, "w-1", "Unknown"))
    await _a_call_that_was_under_way(lab, "w-1")
    await until(partial(_ready_is, lab, "w-1", "Unknown"))
    await lab.host.power_on(lab.machines["w-1"])
    await until(partial(_ready_is, lab, "w-1", "True"))


async def _a_call_that_was_under_way(lab: Lab, name: str) -> None:
    """The last word of a kubelet, which arrives after its node is known to be gone."""
    config = lab.node("cp-1").config
    assert config
    api = lab.host.fabric.kube_api(config.cluster_id)
    assert api
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"conditions": [ready]},
    }
    await api.apply(f"/api/v1/nodes/{name}/status", body, manager="kubelet")
    assert await _ready_is(lab, name, "True")


async def _never_ready_until_the_fault_is_gone(lab: Lab) -> None:
    """A node with that fault says why it is not ready, and recovers with the fault."""
    lab.host.faults.set("w-1", Faults(never_ready=True))
    await until(partial(_ready_is, lab, "w-1", "False"))
    await lab.stage("w-1", Stage.RUNNING, ready=False)
    lab.host.faults.clear("w-1")
    await until(partial(_ready_is, lab, "w-1", "True"))
    await lab.ready("w-1")


async def _both_dialects_of_upgrade(lab: Lab) -> None:
    """The old call includes the reboot, the new one is pull, upgrade, then a reboot."""
    boot = lab.node("cp-1").boot_id
    reply = await lab.api("cp-1").Upgrade(UpgradeRequest(image=INSTALLER))
    assert reply.messages[0].ack == "Upgrade request received"
    await rebooted(lab, "cp-1", boot)
    version = await until(partial(lab.api("cp-1").Version, Empty()))
    assert version.messages[0].version.tag == "v1.13.10"
    assert lab.node("cp-1").schematic == "a" * 64

    newer = INSTALLER.replace("v1.13.10", "v1.13.11")
    channel = lab.channel("cp-1")
    pulls = ImageServiceStub(channel).Pull
    pulled = await pulls(image_pb2.ImageServicePullRequest(image_ref=newer))
    assert pulled[-1].name == newer
    request = lifecycle_pb2.LifecycleServiceUpgradeRequest(
        source=lifecycle_pb2.InstallArtifactsSource(image_name=newer)
    )
    progress = await LifecycleServiceStub(channel).Upgrade(request)
    assert progress[-1].progress.HasField("exit_code")
    assert progress[-1].progress.exit_code == 0
    boot = lab.node("cp-1").boot_id
    await lab.api("cp-1").Reboot(RebootRequest())
    await rebooted(lab, "cp-1", boot)
    await lab.ready()
    node = await kubernetes(lab, "/api/v1/nodes/cp-1")
    assert node["status"]["nodeInfo"]["osImage"] == "Talos (v1.13.11)"
    assert await members(lab, "cp-1") == {"cp-1"}


@pytest.mark.sampled("nodes of the lab")
async def test_last_member_and_its_snapshot(real_lab: Lab) -> None:
    """The last member cannot leave gracefully; wiped, it comes back from a snapshot."""
    await real_lab.cluster("cp-1")
    api = real_lab.host.fabric.kube_api(real_lab.files.id)
    assert api is not None
    path = "/api/v1/namespaces/default/configmaps/kept"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    await api.apply(path, {**body, "metadata": {"name": "kept"}}, manager="test")
    parts = await real_lab.api("cp-1").EtcdSnapshot(EtcdSnapshotRequest())
    snapshot = b"".join(part.bytes for part in parts)

    boot = real_lab.node("cp-1").boot_id
    await real_lab.api("cp-1").Reset(ResetRequest(graceful=True, reboot=True))
    await rebooted(real_lab, "cp-1", boot)
    await until(partial(members, real_lab, "cp-1"))
    assert await members(real_lab, "cp-1") == {"cp-1"}

    await real_lab.api("cp-1").Reset(ResetRequest(graceful=False, reboot=True))
    await real_lab.stage("cp-1", Stage.MAINTENANCE)
    await real_lab.configure("cp-1")
    await real_lab.up("cp-1")
    await _damaged_snapshot_is_refused(real_lab, snapshot)

    chunks = [Data(bytes=snapshot[i : i + 65536]) for i in range(0, len(snapshot), 65536)]
    nodes = {"nodes": real_lab.address("cp-1")}
    reply = await real_lab.api("cp-1").EtcdRecover(chunks, metadata=nodes)
    assert reply.messages[0].metadata.hostname == real_lab.address("cp-1")
    await until(partial(real_lab.api("cp-1").Bootstrap, BootstrapRequest(recover_etcd=True)))
    await real_lab.ready()
    assert (await kubernetes(real_lab, path))["data"] == {"a": "b"}


async def _damaged_snapshot_is_refused(lab: Lab, snapshot: bytes) -> None:
    damaged = bytes([snapshot[0] ^ 1]) + snapshot[1:]
    await lab.api("cp-1").EtcdRecover([Data(bytes=damaged)])
    boot = lab.node("cp-1").boot_id
    await until(partial(lab.api("cp-1").Bootstrap, BootstrapRequest(recover_etcd=True)))
    await rebooted(lab, "cp-1", boot)
    await until(partial(lab.api("cp-1").Version, Empty()))
