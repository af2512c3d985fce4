"""What happens to a cluster later: reboot, reset, upgrade, loss, restore."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.lab_talos.harness import until

from talops.lab.talos.faults import Faults
from talops.lab.talos.stages import Stage
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
    from collections.abc import Callable

    from tests.lab_talos.harness import Lab

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


async def test_reboot_and_return(real_lab: Lab) -> None:
    """A rebooted control plane brings its etcd and API server back by itself."""
    await real_lab.cluster("cp-1")
    boot = real_lab.node("cp-1").boot_id
    await real_lab.api("cp-1").Reboot(RebootRequest())
    await rebooted(real_lab, "cp-1", boot)
    await real_lab.ready()
    assert await members(real_lab, "cp-1") == {"cp-1"}
    with pytest.raises(GRPCError, match="etcd data directory is not empty"):
        await real_lab.api("cp-1").Bootstrap(BootstrapRequest())


async def test_graceful_reset_leaves_etcd(real_lab: Lab) -> None:
    """One of three leaves and returns to maintenance; the last one may not leave gracefully."""
    await real_lab.cluster("cp-1", "cp-2", "cp-3")
    await until(partial(_voters, real_lab, {"cp-1", "cp-2", "cp-3"}))
    await real_lab.api("cp-3").Reset(ResetRequest(graceful=True, reboot=True))
    await real_lab.stage("cp-3", Stage.MAINTENANCE)
    assert await members(real_lab, "cp-1") == {"cp-1", "cp-2"}
    await real_lab.configure("cp-3")
    await real_lab.ready("cp-3")
    assert await members(real_lab, "cp-1") == {"cp-1", "cp-2", "cp-3"}


async def test_last_member_cannot_leave(real_lab: Lab) -> None:
    """The graceful reset of a single control plane fails and keeps the data."""
    await real_lab.cluster("cp-1")
    boot = real_lab.node("cp-1").boot_id
    await real_lab.api("cp-1").Reset(ResetRequest(graceful=True, reboot=True))
    await rebooted(real_lab, "cp-1", boot)
    await real_lab.ready()
    assert await members(real_lab, "cp-1") == {"cp-1"}
    await real_lab.api("cp-1").Reset(ResetRequest(graceful=False, reboot=True))
    await real_lab.stage("cp-1", Stage.MAINTENANCE)


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
    await until(partial(real_lab.api("cp-1").Version, Empty()))
    await real_lab.api("cp-1").Shutdown(ShutdownRequest())

    async def off() -> bool:
        return told == [real_lab.machines["cp-1"].uuid]

    await until(off)
    assert not real_lab.node("cp-1").addresses


async def test_both_dialects_of_upgrade(real_lab: Lab) -> None:
    """The old call reboots by itself, the new one is pull, upgrade, then a reboot."""
    await real_lab.cluster("cp-1")
    boot = real_lab.node("cp-1").boot_id
    reply = await real_lab.api("cp-1").Upgrade(UpgradeRequest(image=INSTALLER))
    assert reply.messages[0].ack == "Upgrade request received"
    await rebooted(real_lab, "cp-1", boot)
    await real_lab.ready()
    version = await real_lab.api("cp-1").Version(Empty())
    assert version.messages[0].version.tag == "v1.13.10"
    assert real_lab.node("cp-1").schematic == "a" * 64

    newer = INSTALLER.replace("v1.13.10", "v1.13.11")
    channel = real_lab.channel("cp-1")
    pulls = ImageServiceStub(channel).Pull
    pulled = await pulls(image_pb2.ImageServicePullRequest(image_ref=newer))
    assert pulled[-1].name == newer
    request = lifecycle_pb2.LifecycleServiceUpgradeRequest(
        source=lifecycle_pb2.InstallArtifactsSource(image_name=newer)
    )
    progress = await LifecycleServiceStub(channel).Upgrade(request)
    assert progress[-1].progress.HasField("exit_code")
    assert progress[-1].progress.exit_code == 0
    boot = real_lab.node("cp-1").boot_id
    await real_lab.api("cp-1").Reboot(RebootRequest())
    await rebooted(real_lab, "cp-1", boot)
    await real_lab.ready()
    node = await kubernetes(real_lab, "/api/v1/nodes/cp-1")
    assert node["status"]["nodeInfo"]["osImage"] == "Talos (v1.13.11)"


async def test_two_members_refuse_the_old_upgrade(real_lab: Lab) -> None:
    """Two members would lose quorum; the new dialect leaves that to the caller."""
    await real_lab.cluster("cp-1", "cp-2")
    with pytest.raises(GRPCError, match="insufficient to maintain quorum"):
        await real_lab.api("cp-1").Upgrade(UpgradeRequest(image=INSTALLER))


async def test_forfeit_and_remove(real_lab: Lab) -> None:
    """Leadership moves away from its holder, and a member can be taken out by its id."""
    await real_lab.cluster("cp-1", "cp-2", "cp-3")
    await until(partial(_voters, real_lab, {"cp-1", "cp-2", "cp-3"}))
    moved = []
    for name in real_lab.machines:
        reply = await real_lab.api(name).EtcdForfeitLeadership(EtcdForfeitLeadershipRequest())
        moved.append(reply.messages[0].member)
    assert any(moved)
    await real_lab.host.destroy(real_lab.machines["cp-3"].uuid)
    listing = await until(partial(real_lab.api("cp-1").EtcdMemberList, EtcdMemberListRequest()))
    gone = next(m.id for m in listing.messages[0].members if m.hostname == "cp-3")
    remove = partial(
        real_lab.api("cp-1").EtcdRemoveMemberByID, EtcdRemoveMemberByIDRequest(member_id=gone)
    )
    await until(remove)
    assert await members(real_lab, "cp-1") == {"cp-1", "cp-2"}
    with pytest.raises(GRPCError) as refused:
        await remove()
    assert refused.value.status is Status.NOT_FOUND


async def test_snapshot_and_recovery(real_lab: Lab) -> None:
    """A snapshot restored on a wiped control plane brings the objects back."""
    await real_lab.cluster("cp-1")
    api = real_lab.host.fabric.kube_api(real_lab.files.id)
    assert api is not None
    path = "/api/v1/namespaces/default/configmaps/kept"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    await api.apply(path, {**body, "metadata": {"name": "kept"}}, manager="test")
    parts = await real_lab.api("cp-1").EtcdSnapshot(EtcdSnapshotRequest())
    snapshot = b"".join(part.bytes for part in parts)

    await real_lab.api("cp-1").Reset(ResetRequest(graceful=False, reboot=True))
    await real_lab.stage("cp-1", Stage.MAINTENANCE)
    await real_lab.configure("cp-1")
    await until(partial(real_lab.api("cp-1").Version, Empty()))
    damaged = bytes([snapshot[0] ^ 1]) + snapshot[1:]
    await real_lab.api("cp-1").EtcdRecover([Data(bytes=damaged)])
    boot = real_lab.node("cp-1").boot_id
    await until(partial(real_lab.api("cp-1").Bootstrap, BootstrapRequest(recover_etcd=True)))
    await rebooted(real_lab, "cp-1", boot)
    await until(partial(real_lab.api("cp-1").Version, Empty()))

    chunks = [Data(bytes=snapshot[i : i + 65536]) for i in range(0, len(snapshot), 65536)]
    nodes = {"nodes": real_lab.address("cp-1")}
    reply = await real_lab.api("cp-1").EtcdRecover(chunks, metadata=nodes)
    assert reply.messages[0].metadata.hostname == real_lab.address("cp-1")
    await until(partial(real_lab.api("cp-1").Bootstrap, BootstrapRequest(recover_etcd=True)))
    await real_lab.ready()
    assert (await kubernetes(real_lab, path))["data"] == {"a": "b"}


async def test_lost_machine_becomes_unknown(real_lab: Lab) -> None:
    """Kubernetes notices a node whose power is gone, and its return."""
    await real_lab.cluster("cp-1", "w-1")

    async def ready_is(wanted: str) -> bool:
        return ready_of(await kubernetes(real_lab, "/api/v1/nodes/w-1")) == wanted

    assert await ready_is("True")
    await real_lab.host.power_off(real_lab.machines["w-1"].uuid, graceful=False)
    await until(partial(ready_is, "Unknown"))
    await real_lab.host.power_on(real_lab.machines["w-1"])
    await until(partial(ready_is, "True"))


async def test_shared_address_moves(real_lab: Lab) -> None:
    """When its holder goes, another control plane answers on the shared address."""
    vip = {"apiVersion": "v1alpha1", "kind": "Layer2VIPConfig", "link": "eth0"}
    address = f"{real_lab.network}.250"
    names = ["cp-1", "cp-2", "cp-3"]
    await real_lab.start(*names)
    for name in names:
        await real_lab.configure(name, {**vip, "name": address})
    await real_lab.bootstrap("cp-1")
    await real_lab.ready()
    await until(partial(_voters, real_lab, set(names)))
    shared = real_lab.host.fabric.vip(address)

    async def held_by(check: Callable[[str], bool]) -> bool:
        return shared.holder is not None and check(shared.holder)

    await until(partial(held_by, lambda _: True))
    first = shared.holder
    name = next(n for n in names if real_lab.address(n) == first)
    await real_lab.host.power_off(real_lab.machines[name].uuid, graceful=False)
    await until(partial(held_by, lambda holder: holder != first))
    _, writer = await asyncio.open_connection(address, 6443)
    writer.close()


async def test_new_labels_and_kubelet_without_reboot(real_lab: Lab) -> None:
    """A changed config reaches Kubernetes while the node runs on."""
    await real_lab.cluster("cp-1")
    boot = real_lab.node("cp-1").boot_id
    config = real_lab.files.config(
        "controlplane", "cp-1", nodeLabels={"zone": "b"},
        kubelet={"image": "ghcr.io/siderolabs/kubelet:v1.36.4"},
    )  # fmt: skip
    request = ApplyConfigurationRequest(data=config, mode=ApplyConfigurationRequest.AUTO)
    await real_lab.api("cp-1").ApplyConfiguration(request)

    async def seen() -> bool:
        node = await kubernetes(real_lab, "/api/v1/nodes/cp-1")
        version = node["status"]["nodeInfo"]["kubeletVersion"]
        return bool(node["metadata"]["labels"].get("zone") == "b" and version == "v1.36.4")

    await until(seen)
    assert real_lab.node("cp-1").boot_id == boot


async def test_never_ready(real_lab: Lab) -> None:
    """A node with that fault registers, says why it is not ready, and recovers with the fault."""
    real_lab.settings.directory.mkdir(parents=True, exist_ok=True)
    real_lab.host.faults.set("cp-1", Faults(never_ready=True))
    await real_lab.start("cp-1")
    await real_lab.configure("cp-1")
    await real_lab.bootstrap("cp-1")
    await real_lab.stage("cp-1", Stage.RUNNING, ready=False)

    async def ready_is(wanted: str) -> bool:
        node = await kubernetes(real_lab, "/api/v1/nodes/cp-1")
        return bool(node) and ready_of(node) == wanted

    await until(partial(ready_is, "False"))
    real_lab.host.faults.clear("cp-1")
    await until(partial(ready_is, "True"))
    await real_lab.ready()
