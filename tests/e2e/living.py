"""Clusters with workloads whose nodes change: what the tests of it do and ask."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tests.lab.talos.harness import until
from tests.lab.workload.cluster import Cluster
from tests.lab.workload.manifests import deploy, shop
from tests.lab.workload.probe import Probe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.conftest import Lab, Outcome

    from talops.lab.talos.machine.host import TalosHost


def edit(lab: Lab, name: str, **values: Any) -> None:
    """Set keys of one entry of nodes.yaml."""
    file = lab.root / "nodes.yaml"
    lines: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        lines.append(line)
        if line.strip() == f"- name: {name}":
            lines += [f"    {key}: {value}" for key, value in values.items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def drop(lab: Lab, name: str) -> None:
    """Remove one entry of nodes.yaml."""
    file = lab.root / "nodes.yaml"
    entries = file.read_text(encoding="utf-8").split("  - ")
    kept = [entry for entry in entries if not entry.startswith(f"name: {name}\n")]
    assert len(kept) == len(entries) - 1
    file.write_text("  - ".join(kept), encoding="utf-8")


def host_of(lab: Lab) -> TalosHost:
    host = lab.world.talos.host
    assert host
    return host


def cluster_id(lab: Lab) -> str:
    (found,) = host_of(lab).fabric.foundings
    return str(found)


async def members(lab: Lab) -> set[str]:
    """Of etcd, as its first member says."""
    first = host_of(lab).fabric.nodes()[0]
    for node in host_of(lab).fabric.nodes():
        if node.hostname.endswith("cp-1"):
            first = node
    assert first.control_plane.etcd
    return {member.name for member in await first.control_plane.etcd.client.members()}


async def kube_nodes(lab: Lab) -> set[str]:
    api = host_of(lab).fabric.kube_api(cluster_id(lab))
    assert api
    listed = await api.get("/api/v1/nodes") or {}
    return {node["metadata"]["name"] for node in listed["items"]}


async def carried(lab: Lab, workers: int) -> Cluster:
    """The cluster with its workloads, all ready."""
    api = host_of(lab).fabric.kube_api(cluster_id(lab))
    assert api
    await deploy(api, *shop(workers))
    cluster = Cluster(api)

    async def ready() -> bool:
        pods = 3 if workers > 1 else 1
        return await cluster.ready("web", max(2, workers)) and await cluster.ready("db", pods)

    await until(ready, 150.0)
    return cluster


@contextlib.asynccontextmanager
async def watched(lab: Lab) -> AsyncIterator[Probe]:
    async with Probe(host_of(lab), cluster_id(lab)) as probe:
        yield probe


async def does(lab: Lab, *words: str) -> Outcome:
    done = await lab.talops(*words)
    assert done.code == 0, f"{words}\n{done.everything}"
    return done


async def cordoned(lab: Lab) -> set[str]:
    api = host_of(lab).fabric.kube_api(cluster_id(lab))
    assert api
    listed = await api.get("/api/v1/nodes") or {}
    return {n["metadata"]["name"] for n in listed["items"] if n["spec"].get("unschedulable")}


def destroyed(lab: Lab, vm_id: int) -> int:
    """How often Proxmox destroyed this VM."""
    hosts = lab.world.proxmox.hypervisors.values()
    tasks = [task for pve in hosts for task in pve.tasks.table.values()]
    own = [task for task in tasks if (task.kind, task.subject) == ("qmdestroy", str(vm_id))]
    return sum(task.exitstatus.partition(":")[0] in {"OK", "WARNINGS"} for task in own)
