"""Pods in the lab: placed, replaced and evicted by the real scheduler and controller manager.

The kubelet's side follows Kubernetes' pkg/kubelet (status manager, nodeshutdown) and Talos'
stopAndRemoveAllPods, which stops the kubelet in order before a reboot.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.harness import until
from tests.lab.workload.cluster import Cluster, ready_word
from tests.lab.workload.manifests import (
    budget,
    daemon_set,
    deploy,
    deployment,
    job,
    path_of,
    stateful_set,
    storage_class,
    with_volumes,
)

from talops.lab.talos.machine.faults import Faults
from talops.talos.wire.machine_pb2 import RebootRequest, UpgradeRequest

if TYPE_CHECKING:
    from tests.lab.talos.harness import Lab

pytestmark = pytest.mark.slow


@pytest.mark.sampled("nodes of the lab")
async def test_pods_day_by_day(workload_lab: Lab) -> None:
    """One cluster through evictions, a cordon, a Job, a reboot, and a node that never returns."""
    lab = workload_lab
    await lab.cluster("cp-1", "w-1", "w-2")
    api = lab.host.fabric.kube_api(lab.files.id)
    assert api is not None
    cluster = Cluster(api)
    await deploy(
        api,
        deployment("web", 2),
        budget("web", 1),
        stateful_set("db", 2),
        budget("db", 2),
        daemon_set("agent"),
    )
    await until(partial(cluster.ready, "web", 2))
    await until(partial(cluster.ready, "db", 2))
    await until(partial(cluster.ready, "agent", 2))  # control planes are tainted
    assert await cluster.places("web") == await cluster.places("db") == ["w-1", "w-2"]
    await _a_budget_holds(cluster)
    await _a_cordoned_node_gets_nothing(cluster)
    await _jobs_end(cluster)
    await _mirror_pods_return(cluster)
    await _a_reboot_fails_its_pods(lab, cluster)
    await _the_old_upgrade_drains(lab, cluster)
    await _a_lost_node_is_evicted(lab, cluster)


@pytest.mark.sampled("nodes of the lab")
async def test_volumes_follow_their_pods(workload_lab: Lab) -> None:
    """Attached before the pod starts, detached after it ends, unless the driver is stuck.

    As kubernetes-csi/external-attacher does it, for the real attach-detach controller.
    """
    lab = workload_lab
    await lab.cluster("cp-1", "w-1", "w-2")
    api = lab.host.fabric.kube_api(lab.files.id)
    assert api is not None
    cluster = Cluster(api)
    await deploy(api, storage_class(), with_volumes(stateful_set("db", 1)))
    await until(partial(cluster.ready, "db", 1))
    (place,) = await cluster.places("db")
    (attached,) = await cluster.attachments()
    assert (attached["spec"]["nodeName"], attached["status"]["attached"]) == (place, True)
    assert attached["metadata"]["finalizers"] == ["external-attacher/csi-proxmox-sinextra-dev"]
    in_use = (await cluster.node(place))["status"]["volumesInUse"]
    assert in_use == [v["name"] for v in (await cluster.node(place))["status"]["volumesAttached"]]

    lab.host.faults.set(place, Faults(volumes_stuck=True))
    await cluster.cordon(place)
    (pod,) = await cluster.pods("db")
    assert await cluster.evict(pod) == ""

    async def on_its_way_out() -> bool:
        found = await cluster.attachments()
        return [a for a in found if "deletionTimestamp" in a["metadata"]] == found != []

    await until(on_its_way_out)
    assert not await cluster.ready("db", 1)
    lab.host.faults.clear(place)
    await until(partial(cluster.ready, "db", 1))
    other = next(name for name in ("w-1", "w-2") if name != place)
    assert await cluster.places("db") == [other]
    assert [a["spec"]["nodeName"] for a in await cluster.attachments()] == [other]


async def _a_budget_holds(cluster: Cluster) -> None:
    """The API server refuses what the controller manager's budget does not allow."""
    (first, second) = await cluster.pods("db")

    async def counted() -> bool:
        found = await cluster.api.get(path_of(budget("db", 2)))
        return bool(found and found.get("status", {}).get("currentHealthy") == 2)

    await until(counted)
    refused = await cluster.evict(first)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused
    assert {p["metadata"]["uid"] for p in await cluster.pods("db")} == {
        first["metadata"]["uid"],
        second["metadata"]["uid"],
    }


async def _a_cordoned_node_gets_nothing(cluster: Cluster) -> None:
    """What is evicted from it starts elsewhere; DaemonSets stay."""
    await cluster.cordon("w-1")
    (moved,) = [p for p in await cluster.pods("web") if p["spec"]["nodeName"] == "w-1"]

    async def evicted() -> bool:
        return not await cluster.evict(moved)

    await until(evicted)
    await until(partial(cluster.ready, "web", 2))
    assert await cluster.places("web") == ["w-2", "w-2"]
    assert await cluster.places("agent") == ["w-1", "w-2"]
    await cluster.cordon("w-1", on=False)


async def _jobs_end(cluster: Cluster) -> None:
    """With the exit code that they are given."""
    good, bad = job("good"), job("bad", exit_code="1")
    await deploy(cluster.api, good, bad)

    async def ended(path: str, condition: str) -> bool:
        found = await cluster.api.get(path) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return any(c["type"] == condition and c["status"] == "True" for c in conditions)

    await until(partial(ended, path_of(good), "Complete"))
    await until(partial(ended, path_of(bad), "Failed"))


async def _mirror_pods_return(cluster: Cluster) -> None:
    """Deleting a static pod deletes only its object."""
    path = "/api/v1/namespaces/kube-system/pods/kube-scheduler-cp-1"
    before = await until(partial(cluster.api.get, path))
    await cluster.api.delete(path)

    async def again() -> bool:
        found = await cluster.api.get(path)
        return bool(found and found["metadata"]["uid"] != before["metadata"]["uid"])

    await until(again)


async def _a_reboot_fails_its_pods(lab: Lab, cluster: Cluster) -> None:
    """Without a drain a reboot ends pods as Failed, and their owners replace them."""
    before = {p["metadata"]["uid"]: p for p in await cluster.pods("db")}
    boot = (await cluster.node("w-1"))["status"]["nodeInfo"]["bootID"]
    assert boot == lab.node("w-1").boot_id
    seen: list[str] = []

    async def not_ready() -> bool:
        node = await cluster.node("w-1")
        seen.extend(c["message"] for c in node["status"]["conditions"] if c["type"] == "Ready")
        return ready_word(node) == "True" and node["status"]["nodeInfo"]["bootID"] != boot

    await lab.api("w-1").Reboot(RebootRequest())
    await until(not_ready)
    await until(partial(cluster.ready, "db", 2))
    await until(partial(cluster.ready, "agent", 2))
    after = {p["metadata"]["uid"]: p for p in await cluster.pods("db")}
    kept = [uid for uid in after if uid in before]
    assert [before[uid]["spec"]["nodeName"] for uid in kept] == ["w-2"]


async def _the_old_upgrade_drains(lab: Lab, cluster: Cluster) -> None:
    """The node evicts its pods itself, and is schedulable again when it has booted."""
    await until(partial(cluster.ready, "web", 2))
    boot = lab.node("w-1").boot_id
    image = "factory.talos.dev/nocloud-installer/" + "a" * 64 + ":v1.13.10"
    await lab.api("w-1").Upgrade(UpgradeRequest(image=image))

    async def returned() -> bool:
        node = await cluster.node("w-1")
        return bool(
            node["status"]["nodeInfo"]["bootID"] != boot
            and ready_word(node) == "True"
            and not node["spec"].get("unschedulable")
        )

    await until(returned)
    assert "talos.dev/cordoned" not in (await cluster.node("w-1"))["metadata"]["annotations"]
    failed = [p for p in await cluster.pods("web") if p["status"].get("reason") == "Terminated"]
    assert failed == []
    await until(partial(cluster.ready, "web", 2))
    await until(partial(cluster.ready, "db", 2))


async def _a_lost_node_is_evicted(lab: Lab, cluster: Cluster) -> None:
    """The node controller waits for its lease, then for the pods' tolerations."""
    await lab.host.power_off(lab.machines["w-2"].uuid, graceful=False)

    async def unknown() -> bool:
        node = await cluster.node("w-2")
        taints = {t["key"] for t in node["spec"].get("taints", [])}
        return ready_word(node) == "Unknown" and "node.kubernetes.io/unreachable" in taints

    await until(unknown)

    async def moved() -> bool:
        return await cluster.places("web") == ["w-1", "w-1"] and await cluster.ready("web", 2)

    await until(moved)
    await lab.host.power_on(lab.machines["w-2"])
    await until(partial(cluster.ready, "db", 2))
    assert ready_word(await cluster.node("w-2")) == "True"
