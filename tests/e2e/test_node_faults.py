"""Faults while nodes are removed and replaced: each stops there, and the same command continues."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.living import (
    cluster_id,
    cordoned,
    destroyed,
    does,
    drop,
    host_of,
    kube_nodes,
    members,
)
from tests.lab.talos.harness import until
from tests.lab.workload.cluster import is_ready

from talops.lab.faults import parse
from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(3600)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
VMID = 122


@dataclass(frozen=True)
class Case:
    """`rule`: of the faults of the lab. `says`: in what talops prints."""

    name: str
    node: str
    says: tuple[str, ...]
    rule: dict[str, Any] = field(default_factory=dict)
    # `timeouts` of cluster.yaml: what a fault makes longer is not waited for.
    limits: str = ""


def reset(node: str) -> Case:
    return Case(
        f"{node} does not come back from its reset",
        node,
        (f"removing {node}", f"{node} to be wiped", "run the same command again"),
        {"kind": "talos-hang", "machine": node},
        limits="install: 20s",
    )


WORKER = "e2e-w-2"
CASES = [
    reset(WORKER),
    Case(
        f"the VM of {WORKER} cannot be destroyed",
        WORKER,
        (f"removing {WORKER}", "the host is on fire"),
        {"kind": "task", "task": "qmdestroy", "step": "destroy", "message": "the host is on fire"},
    ),
]


@pytest.mark.parametrize("way", ["removal", "replacement"])
async def test_faults(way: str, make_lab: MakeLab) -> None:
    """No other node is touched, the reason is told, nothing is done twice, and nothing is left."""
    async with make_lab(spec=LabSpec(timing=0.0), control_planes=1, workers=2) as lab:
        await does(lab, "secrets", "init")
        await does(lab, "up", "--yes")
        for case in CASES:
            await (_removed if way == "removal" else _replaced)(lab, case)


async def _removed(lab: Lab, case: Case) -> None:
    file, names = lab.root / "nodes.yaml", set(lab.vms())
    text = file.read_text(encoding="utf-8")
    drop(lab, case.node)
    await _fails_and_continues(lab, case, "up", "--allow-destroy", case.node)
    await _is_whole(lab, names - {case.node})
    file.write_text(text, encoding="utf-8")
    await does(lab, "up", "--yes")


async def _replaced(lab: Lab, case: Case) -> None:
    names = set(lab.vms())
    await _fails_and_continues(lab, case, "replace", case.node)
    await _is_whole(lab, names)


async def _fails_and_continues(lab: Lab, case: Case, *words: str) -> None:
    before, boots = destroyed(lab, VMID), _boots(lab)
    lab.world.faults.add(parse(case.rule))
    struck = _boots(lab)
    file = lab.root / "cluster.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(f"{text}timeouts: {{{case.limits}}}\n", encoding="utf-8")
    failed = await lab.talops(*words, "--yes")
    file.write_text(text, encoding="utf-8")
    assert failed.code == 1, (case.name, failed.everything)
    for text in case.says:
        assert text in failed.everything, (case.name, failed.everything)
    changed = {n for n, boot in _boots(lab).items() if n in struck and struck[n] != boot}
    assert changed <= {case.node}, case.name
    assert destroyed(lab, VMID) == before, case.name
    lab.world.faults.remove(None)
    await until(partial(_others_are_ready, lab, case.node))
    assert await cordoned(lab) <= {case.node}, case.name
    await does(lab, *words, "--yes")
    assert destroyed(lab, VMID) == before + 1, case.name
    others = boots.keys() - {case.node}
    assert {n: _boots(lab)[n] for n in others} == {n: boots[n] for n in others}, case.name


async def _others_are_ready(lab: Lab, leaving: str) -> bool:
    api = host_of(lab).fabric.kube_api(cluster_id(lab))
    assert api
    listed = await api.get("/api/v1/nodes") or {}
    nodes = [n for n in listed["items"] if n["metadata"]["name"] != leaving]
    etcd = [n.control_plane for n in host_of(lab).fabric.nodes() if "-cp-" in n.machine.name]
    planes = [p.etcd_running for p in etcd if p.etcd is not None]
    return all(is_ready(n) for n in nodes) and all(planes)


def _boots(lab: Lab) -> dict[str, str]:
    return {node.machine.name: node.boot_id for node in host_of(lab).fabric.nodes()}


async def _is_whole(lab: Lab, names: set[str]) -> None:
    assert set(lab.vms()) == names == await kube_nodes(lab)
    assert await members(lab) == {name for name in names if "-cp-" in name}
    assert await cordoned(lab) == set()
    assert "nothing to change" in (await does(lab, "up", "--yes")).everything
