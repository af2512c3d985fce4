"""Whole lives of clusters: both generations of Talos, with and without a discovery service."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.holdings import holdings

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
FIRST_UPS = 50
OLDER, NEWER = "v1.13.9", "v1.14.1"
# Discovery switched off, in the shape of the contract of the version.
OFF = {
    OLDER: "{cluster: {discovery: {enabled: false}}}",
    NEWER: "{apiVersion: v1alpha1, kind: DiscoveryServiceConfig, name: default, $patch: delete}",
}
# What `verify` says of Talos' own list of members.
MEMBERS = {
    "reached": "Talos members match the inventory",
    "unreachable": "no node has discovered another node",
    "off": "discovery is disabled",
}
# One of them is enough for every day: the other tests bring up what is new.
LIVES = [
    pytest.param(talos, discovery, planes, marks=[] if daily else [pytest.mark.chaos])
    for talos, discovery, planes, daily in (
        (OLDER, "unreachable", 1, True),
        (OLDER, "reached", 1, False),
        (OLDER, "off", 1, False),
        (NEWER, "unreachable", 3, False),
        (NEWER, "reached", 3, False),
        (NEWER, "off", 3, False),
    )
]


def adapt(lab: Lab, talos: str, *, discovery_off: bool) -> None:
    """Another version, a VIP for a single control plane, too, and discovery as it is wanted."""
    file = lab.root / "cluster.yaml"
    lines = file.read_text(encoding="utf-8").splitlines()
    cidr = next(line for line in lines if line.startswith("node_cidr: "))
    vip = cidr.removeprefix("node_cidr: ").rpartition(".")[0] + ".10"
    own = ("talos_version:", "cluster_api_addr:")
    lines = [line for line in lines if not line.startswith(own)]
    lines += [f"talos_version: {talos}", f"cluster_api_addr: {vip}"]
    lines += [f"patches: [{OFF[talos]}]"] if discovery_off else []
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


async def does(lab: Lab, *words: str) -> str:
    done = await lab.talops(*words)
    assert done.code == 0, f"{words}\n{done.everything}"
    return done.everything


async def settled(lab: Lab) -> str:
    """Nothing is left to do, and nothing differs; the verdict on the members."""
    assert "nothing to change" in await does(lab, "up", "--yes")
    await does(lab, "drift")
    lines = (await does(lab, "verify")).splitlines()
    (members,) = (line for line in lines if line.split()[1:2] == ["members"])
    return members


@pytest.mark.sampled("whole lives")
@pytest.mark.parametrize(("talos", "discovery", "control_planes"), LIVES)
async def test_life(talos: str, discovery: str, control_planes: int, make_lab: MakeLab) -> None:
    """Made, looked at, a worker lost and made again, and all of it gone in the end."""
    spec = LabSpec(timing=0.0, discovery=discovery != "unreachable")
    users = {"sealed": True, "as_users": True}
    async with make_lab(spec=spec, control_planes=control_planes, workers=1, **users) as lab:
        adapt(lab, talos, discovery_off=discovery == "off")
        await does(lab, "up", "--yes")
        members = await settled(lab)
        assert MEMBERS[discovery] in members
        assert {node.version for node in lab.world.talos.host.fabric.nodes()} == {talos}

        await does(lab, "reset", "--node", "e2e-w-1", "--yes")
        assert "e2e-w-1" not in lab.vms()
        await does(lab, "up", "--yes")
        await settled(lab)
        names = {f"e2e-cp-{number + 1}" for number in range(control_planes)} | {"e2e-w-1"}
        assert holdings(lab).problems(names) == []

        await does(lab, "down", "--yes", "--cluster", "e2e", "--force")
        assert lab.vms() == {}


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("run", "talos", "control_planes"),
    [
        (run, talos, planes)
        for run, (planes, talos) in zip(
            range(FIRST_UPS),
            itertools.cycle(itertools.product((1, 3), (NEWER, OLDER))),
            strict=False,
        )
    ],
)
async def test_first_up(run: int, talos: str, control_planes: int, make_lab: MakeLab) -> None:
    """Nodes swap their certificate while they answer, each after a time of its own: no first
    bring-up takes that for trouble.
    """
    async with make_lab(control_planes=control_planes, workers=1) as lab:
        adapt(lab, talos, discovery_off=False)
        await does(lab, "secrets", "init")
        await does(lab, "up", "--yes")
        assert len(lab.vms()) == control_planes + 1
