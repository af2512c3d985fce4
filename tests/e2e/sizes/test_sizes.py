"""Clusters of one node of each kind and of many: every kind of change, watched by a probe."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.living import (
    carried,
    cordoned,
    does,
    drop,
    edit,
    host_of,
    kube_nodes,
    members,
    watched,
)

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(7200)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
OLD_TALOS, NEW_TALOS = "v1.13.9", "v1.14.1"
OLD_KUBERNETES, NEW_KUBERNETES = "v1.36.1", "v1.36.4"
LIVE, REBOOTS = "{machine: {nodeLabels: {zone: b}}}", "{machine: {env: {GRPC_TRACE: all}}}"


class Life:
    """One cluster, and what every change of it has to keep."""

    def __init__(self, lab: Lab, planes: int, workers: int) -> None:
        self.lab = lab
        self.planes = planes
        # As many workers as may be away at the same time.
        self.width = max(1, workers // 5)
        self.names = {f"e2e-cp-{n}" for n in range(1, planes + 1)}
        self.names |= {f"e2e-w-{n}" for n in range(1, workers + 1)}

    async def change(self, *words: str, restarts: set[str], moves: str = "") -> None:
        """One run, and the same once more, which has nothing to do. `moves`: a machine that comes
        or leaves, and boots as often as that needs.
        """
        several = ("--max-unavailable", str(self.width)) if words[0] == "up" else ()
        async with watched(self.lab) as probe:
            await does(self.lab, *words, *several, "--yes")
        found = probe.report
        if self.planes > 1:
            found.require(max_unavailable=self.width)
        else:  # the only member of etcd and the only API server restart
            assert not [each for each in found.incidents if each.startswith("budget")], found
        found.restarts.pop(moves, None)
        assert found.restarts == dict.fromkeys(restarts, 1)
        await self.is_whole()

    async def is_whole(self) -> None:
        assert set(self.lab.vms()) == await kube_nodes(self.lab) == self.names
        assert await members(self.lab) == {name for name in self.names if "-cp-" in name}
        assert await cordoned(self.lab) == set()
        assert "nothing to change" in (await does(self.lab, "up", "--yes")).everything

    def setting(self, *lines: str) -> None:
        """Keys of cluster.yaml."""
        file = self.lab.root / "cluster.yaml"
        keys = {line.partition(":")[0] for line in lines}
        text = file.read_text(encoding="utf-8").splitlines()
        kept = [line for line in text if line.partition(":")[0] not in keys]
        file.write_text("\n".join([*kept, *lines]) + "\n", encoding="utf-8")


@contextlib.asynccontextmanager
async def life(make_lab: MakeLab, planes: int, workers: int) -> AsyncIterator[tuple[Life, str]]:
    """A running cluster with its workloads, and a nodes.yaml with one worker more."""
    serving: Any = "every" if planes < 5 else "leader-only"
    spec = LabSpec(timing=0.0, workloads=True, apiservers=serving)
    async with make_lab(spec=spec, control_planes=planes, workers=workers + 1) as lab:
        found = Life(lab, planes, workers)
        found.setting(f"talos_version: {OLD_TALOS}", f"kubernetes_version: {OLD_KUBERNETES}")
        more = (lab.root / "nodes.yaml").read_text(encoding="utf-8")
        drop(lab, f"e2e-w-{workers + 1}")
        await lab.init_secrets()
        await does(lab, "up", "--yes")
        await carried(lab, workers)
        yield found, more


SIZES = pytest.mark.parametrize(
    ("planes", "workers"),
    [pytest.param(p, w, id=f"{p}+{w}") for p, w in ((1, 1), (3, 3), (5, 20))],
)


@SIZES
async def test_nodes(planes: int, workers: int, make_lab: MakeLab) -> None:
    """Replaced, added and removed: etcd and budgets hold all the time."""
    async with life(make_lab, planes, workers) as (it, more):
        await _nodes(it, more, f"e2e-w-{workers + 1}")


@SIZES
async def test_shapes_and_configs(planes: int, workers: int, make_lab: MakeLab) -> None:
    """VMs of another shape, then configs: what needs no restart restarts nothing."""
    async with life(make_lab, planes, workers) as (it, _):
        await _shapes(it)
        await _configs(it)


@SIZES
async def test_versions(planes: int, workers: int, make_lab: MakeLab) -> None:
    """Talos restarts every node once, Kubernetes none."""
    async with life(make_lab, planes, workers) as (it, _):
        await _versions(it)


async def _nodes(it: Life, more: str, name: str) -> None:
    for each in ("e2e-w-1", *(["e2e-cp-2"] if it.planes > 1 else [])):
        before = it.lab.vms()[each].config["smbios1"]
        await it.change("replace", each, restarts=set(), moves=each)
        assert it.lab.vms()[each].config["smbios1"] != before
    file = it.lab.root / "nodes.yaml"
    less = file.read_text(encoding="utf-8")
    file.write_text(more, encoding="utf-8")
    it.names.add(name)
    await it.change("up", restarts=set(), moves=name)
    file.write_text(less, encoding="utf-8")
    it.names.remove(name)
    await it.change("up", "--allow-destroy", name, restarts=set(), moves=name)


async def _shapes(it: Life) -> None:
    """Cores of some, memory of a control plane, a larger disk."""
    edit(it.lab, "e2e-w-1", vm_cores=4, vm_disk_size=64)
    edit(it.lab, "e2e-cp-1", vm_memory=6144)
    await it.change("up", restarts={"e2e-w-1", "e2e-cp-1"})


async def _configs(it: Life) -> None:
    """One that takes effect at once, and one that needs a restart of every node."""
    it.setting(f"patches: [{LIVE}]")
    await it.change("up", restarts=set())
    it.setting(f"patches: [{LIVE}, {REBOOTS}]")
    await it.change("up", restarts=it.names)


async def _versions(it: Life) -> None:
    it.setting(f"talos_version: {NEW_TALOS}")
    await it.change("up", restarts=it.names)
    assert {node.version for node in host_of(it.lab).fabric.nodes()} == {NEW_TALOS}
    it.setting(f"kubernetes_version: {NEW_KUBERNETES}")
    await it.change("up", restarts=set())
