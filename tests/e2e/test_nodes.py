"""Nodes of a running cluster change, leave and are replaced, and a probe watches its workloads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.living import (
    carried,
    cluster_id,
    cordoned,
    does,
    drop,
    edit,
    host_of,
    kube_nodes,
    members,
    watched,
)
from tests.lab.talos.harness import until
from tests.lab.workload.cluster import Cluster, is_ready
from tests.lab.workload.manifests import budget, deploy, deployment, path_of

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]


@pytest.mark.sampled("nodes of a running cluster")
async def test_life_of_nodes(make_lab: MakeLab) -> None:
    """Resized, replaced, refused, removed: drained first, etcd keeps its majority, none remains."""
    spec = LabSpec(timing=0.0, workloads=True)
    async with make_lab(spec=spec, control_planes=3, workers=2) as lab:
        await lab.init_secrets()
        await does(lab, "up", "--yes")
        await carried(lab, 2)
        await _are_resized(lab)
        await _is_replaced(lab, "e2e-cp-3")
        await _is_replaced(lab, "e2e-w-1")
        await _are_refused(lab)
        await _leaves(lab, "e2e-w-2")
        await _leaves(lab, "e2e-cp-3")
        assert await members(lab) == {"e2e-cp-1", "e2e-cp-2"}
        await does(lab, "verify")


async def _are_resized(lab: Lab) -> None:
    """Drained, then restarted by one plan each; a larger disk needs a reboot only."""
    edit(lab, "e2e-cp-2", vm_memory=6144)
    edit(lab, "e2e-w-1", vm_cores=4)
    edit(lab, "e2e-w-2", vm_disk_size=64)
    async with watched(lab) as probe:
        done = await does(lab, "up", "--yes")
    probe.report.require()
    assert probe.report.restarts == {"e2e-cp-2": 1, "e2e-w-1": 1, "e2e-w-2": 1}
    steps = ["cordoning", "draining", "detaching volumes of", "restarting", "waiting for"]
    for name in ("e2e-cp-2", "e2e-w-1", "e2e-w-2"):
        places = [done.everything.index(f"{step} {name}: done") for step in steps]
        assert places == sorted(places), name
    assert "nothing to change" in (await does(lab, "up", "--yes")).everything


async def _is_replaced(lab: Lab, name: str) -> None:
    before = {vm: found.config["smbios1"] for vm, found in lab.vms().items()}
    async with watched(lab) as probe:
        done = await does(lab, "replace", name, "--yes")
    probe.report.require()
    after = {vm: found.config["smbios1"] for vm, found in lab.vms().items()}
    assert {vm for vm in before if before[vm] != after[vm]} == {name}
    assert before.keys() == after.keys() == await kube_nodes(lab)
    assert f"draining {name}: done" in done.everything
    assert "nothing to change" in (await does(lab, "up", "--yes")).everything


async def _are_refused(lab: Lab) -> None:
    """Before anything is changed, with the way that works."""
    file, vms = lab.root / "nodes.yaml", lab.vms().keys()
    text = file.read_text(encoding="utf-8")
    addresses = {
        name: next(line for line in text[text.index(name) :].splitlines() if "address" in line)
        for name in ("e2e-w-1", "e2e-w-2")
    }
    one, other = addresses.values()
    swapped = text.replace(one, "SWAP").replace(other, one).replace("SWAP", other)
    for after, said in (
        (text.replace("name: e2e-w-1", "name: e2e-big"), "a node cannot be renamed"),
        (swapped, "in two steps: give e2e-w-1 a free address"),
        (text.replace("vm_id: 113", "vm_id: 213"), "talops replace e2e-cp-3"),
        (text.replace(".13\n", ".33\n"), "talops replace e2e-cp-3"),
    ):
        assert after != text
        file.write_text(after, encoding="utf-8")
        refused = await lab.talops("up", "--yes", "--allow-destroy", "e2e-w-1")
        assert refused.code == 1, refused.everything
        assert said in refused.everything
        assert lab.vms().keys() == vms
    file.write_text(text, encoding="utf-8")
    for name in ("e2e-cp-2", "e2e-cp-3"):
        drop(lab, name)
    words = ("--allow-destroy", "e2e-cp-2", "--allow-destroy", "e2e-cp-3")
    refused = await lab.talops("up", "--yes", *words)
    assert "remove one, run talops up, then the next" in refused.everything
    file.write_text(text, encoding="utf-8")
    assert "nothing to change" in (await does(lab, "up", "--yes")).everything


async def _leaves(lab: Lab, name: str) -> None:
    before = set(lab.vms())
    drop(lab, name)
    refused = await lab.talops("up", "--yes")
    assert refused.code == 1
    assert f"--allow-destroy {name}" in refused.everything
    assert set(lab.vms()) == before == await kube_nodes(lab)
    async with watched(lab) as probe:
        done = await does(lab, "up", "--yes", "--allow-destroy", name)
    probe.report.require()
    assert probe.report.restarts.keys() <= {name}
    assert set(lab.vms()) == before - {name} == await kube_nodes(lab)
    assert f"draining {name}: done" in done.everything
    again = await does(lab, "up", "--yes")
    assert "nothing to change" in again.everything


@pytest.mark.sampled("nodes of a running cluster")
async def test_nodes_that_resist(make_lab: MakeLab) -> None:
    """A budget that forbids every eviction, a control plane and a worker without a machine."""
    spec = LabSpec(timing=0.0, workloads=True)
    async with make_lab(spec=spec, control_planes=3, workers=3) as lab:
        await lab.init_secrets()
        await does(lab, "up", "--yes")
        cluster = await carried(lab, 3)
        await _is_blocked(lab, cluster)
        await _gets_another_address(lab)
        await _comes_back(lab)
        await _are_dead(lab)


async def _is_blocked(lab: Lab, cluster: Cluster) -> None:
    """Refused with what blocks it, and continued when nothing does; the other node is untouched."""
    solo, own = deployment("solo", 1), budget("solo", 1)
    await deploy(cluster.api, solo, own)

    async def placed() -> bool:
        return await cluster.ready("solo", 1)

    await until(placed, 60.0)
    (name,) = await cluster.places("solo")
    other = next(n for n in ("e2e-w-1", "e2e-w-2", "e2e-w-3") if n != name)
    await cluster.cordon(other)
    edit(lab, name, vm_cores=4)
    refused = await lab.talops("up", "--yes", "--drain-timeout", "1")
    assert refused.code == 1
    assert f"draining {name}" in refused.everything
    assert "Pod shop/solo-" in refused.everything
    assert "disruption budget" in refused.everything
    assert "kubectl get poddisruptionbudgets -n shop" in refused.everything
    assert await cordoned(lab) == {name, other}
    await cluster.api.delete(path_of(own))
    async with watched(lab) as probe:
        await does(lab, "up", "--yes")
    assert probe.report.restarts == {name: 1}
    assert await cordoned(lab) == {other}, "it was cordoned before"
    await cluster.cordon(other, on=False)


async def _gets_another_address(lab: Lab) -> None:
    """A worker restarts through the roll, and answers at its new address."""
    file = lab.root / "nodes.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(".22\n", ".42\n"), encoding="utf-8")
    async with watched(lab) as probe:
        done = await does(lab, "up", "--yes")
    probe.report.require()
    assert probe.report.restarts.keys() == {"e2e-w-2"}
    assert "draining e2e-w-2: done" in done.everything
    assert "nothing to change" in (await does(lab, "up", "--yes")).everything


async def _comes_back(lab: Lab) -> None:
    """A control plane whose VM was destroyed by hand is created again and votes."""
    await lab.proxmox("POST", "nodes/pve/qemu/112/status/stop")
    await until(partial(_is_off, lab, 112), 30.0)
    await lab.proxmox("DELETE", "nodes/pve/qemu/112")
    await does(lab, "up", "--yes")
    assert await members(lab) == {f"e2e-cp-{number}" for number in (1, 2, 3)}
    assert "nothing to change" in (await does(lab, "up", "--yes")).everything


async def _are_dead(lab: Lab) -> None:
    """Their VMs are destroyed by hand: the others remove the member, and nothing is drained."""
    for vm_id in (113, 123):
        await lab.proxmox("POST", f"nodes/pve/qemu/{vm_id}/status/stop")
        await until(partial(_is_off, lab, vm_id), 30.0)
        await lab.proxmox("DELETE", f"nodes/pve/qemu/{vm_id}")
    names = {"e2e-cp-3", "e2e-w-3"}
    await until(partial(_are_lost, lab, names), 120.0)
    for name in names:
        drop(lab, name)
    words = [word for name in sorted(names) for word in ("--allow-destroy", name)]
    async with watched(lab) as probe:
        done = await does(lab, "up", "--yes", *words)
    assert not probe.report.incidents
    assert not probe.report.restarts
    assert "is not drained" in done.everything
    assert await members(lab) == {"e2e-cp-1", "e2e-cp-2"}
    assert await kube_nodes(lab) == set(lab.vms()) == {f"e2e-{n}" for n in LEFT}
    assert await cordoned(lab) == set()
    assert "nothing to change" in (await does(lab, "up", "--yes")).everything


LEFT = ("cp-1", "cp-2", "w-1", "w-2")


async def _is_off(lab: Lab, vm_id: int) -> bool:
    status = await lab.proxmox("GET", f"nodes/pve/qemu/{vm_id}/status/current")
    return bool(status["status"] == "stopped")


async def _are_lost(lab: Lab, names: set[str]) -> bool:
    """Nodes become NotReady before their pods do, one by one: both belong to the loss."""
    api = host_of(lab).fabric.kube_api(cluster_id(lab))
    assert api
    cluster = Cluster(api)
    found = [await cluster.node(name) for name in names]
    found += [pod for pod in await cluster.pods() if pod["spec"].get("nodeName") in names]
    return not any(is_ready(each) for each in found)
