"""Faults during rolls: each stops at the first node, and the same command continues later."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import NodeSite
from tests.lab.workload.probe import Probe
from tests.rolls.conftest import Rolling
from tests.rolls.faults import cases_others, cases_talos
from tests.rolls.faults.changes import TALOS, UPGRADE
from tests.rolls.faults.world import World, stops_and_resumes
from tests.upgrades.conftest import PATIENT

from talops.pipeline.result import RunStatus

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from tests.rolls.faults.world import Case

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PARTS = {**cases_talos.PARTS, **cases_others.PARTS}
SMALL = [case for part in PARTS.values() for case in part if not case.planes]
SAMPLE = 3


@contextlib.asynccontextmanager
async def world_of(
    folder: Path, tool: Callable[[str], Path], bundle: Bundle, *names: str
) -> AsyncIterator[World]:
    """Nodes that run what the inventory says."""

    async def find(name: str) -> Path:
        return tool(name)

    lab = NodeSite(folder, find, bundle)
    try:
        await lab.start(*names, version=TALOS)
        world = World(Rolling(lab))
        world.want(TALOS)
        for name in lab.lab.machines:
            await lab.lab.listening(name)
        up = await lab.run("kubeconfig", PATIENT)
        assert up.error is None, up.error
        await lab.lab.ready(*lab.lab.machines)
        yield world
    finally:
        await lab.lab.close()


async def survive(world: World, cases: Sequence[Case], patch: pytest.MonkeyPatch) -> None:
    """One after the other in the same cluster."""
    for case in cases:
        await stops_and_resumes(world, case, patch)
    assert (await world.up()).status is RunStatus.UNCHANGED
    await world.cluster.lab.assert_one_cluster()


@pytest.mark.sampled("rolls")
async def test_some_faults(
    tmp_path: Path,
    tool: Callable[[str], Path],
    bundle: Bundle,
    rng: random.Random,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sample of those that need one control plane only."""
    async with world_of(tmp_path, tool, bundle, "cp-1", "w-1", "w-2") as world:
        await survive(world, rng.sample(SMALL, SAMPLE), monkeypatch)


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", PARTS)
async def test_every_fault(
    part: str,
    tmp_path: Path,
    tool: Callable[[str], Path],
    bundle: Bundle,
    rng: random.Random,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of them in a random order, in clusters of three control planes and two workers."""
    names = ("cp-1", "cp-2", "cp-3", "w-1", "w-2")
    async with world_of(tmp_path, tool, bundle, *names) as world:
        await survive(world, rng.sample(PARTS[part], len(PARTS[part])), monkeypatch)
        if part == "etcd":
            await _a_slow_member(world)


async def _a_slow_member(world: World) -> None:
    """It answers late, but it votes: the roll waits for it, and etcd never loses its majority."""
    UPGRADE.edit(world, cases_talos.PLANES)
    host, before = world.cluster.lab.lab.host, world.boots()
    world.faulty("cp-3", etcd_slow=True)
    async with Probe(host, world.cluster.lab.bundle.cluster_id) as probe:
        done = await world.up()
    assert done.status is RunStatus.DONE, done.error
    probe.report.require()
    after = world.boots()
    assert {name for name in after if after[name] != before[name]} == {*cases_talos.PLANES}
    await world.heal()
    assert (await world.up()).status is RunStatus.UNCHANGED
