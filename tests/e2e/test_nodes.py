"""Nodes of a running cluster change, leave and are replaced, and a probe watches its workloads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.harness import until
from tests.lab.workload.cluster import Cluster
from tests.lab.workload.manifests import deploy, shop
from tests.lab.workload.probe import Probe

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.conftest import Lab, Outcome

    from talops.lab.talos.machine.host import TalosHost

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]


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
        return await cluster.ready("web", max(2, workers)) and await cluster.ready("db", 3)

    await until(ready, 60.0)
    return cluster


@contextlib.asynccontextmanager
async def watched(lab: Lab) -> AsyncIterator[Probe]:
    async with Probe(host_of(lab), cluster_id(lab)) as probe:
        yield probe


async def does(lab: Lab, *words: str) -> Outcome:
    done = await lab.talops(*words)
    assert done.code == 0, f"{words}\n{done.everything}"
    return done


async def test_life_of_nodes(make_lab: MakeLab) -> None:
    """Resized, replaced, refused, removed: drained first, etcd keeps its majority, none remains."""
    spec = LabSpec(timing=0.0, workloads=True)
    async with make_lab(spec=spec, control_planes=3, workers=2) as lab:
        await does(lab, "secrets", "init")
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
