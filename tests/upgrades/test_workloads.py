"""A Talos upgrade under workloads: a probe watches etcd, budgets and nodes all the time."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.harness import until
from tests.lab.talos.site import NodeSite
from tests.lab.workload.cluster import Cluster
from tests.lab.workload.manifests import deploy, shop
from tests.lab.workload.probe import Probe
from tests.rolls.conftest import Rolling
from tests.upgrades.conftest import PATIENT, Upgrading

from talops.lab.talos.machine.settings import Timing
from talops.pipeline.result import RunStatus
from talops.rolls.options import RollOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
# A busy machine delays leases: no node counts as lost for that.
TIMING = Timing(scale=0.0, grace=30.0, lease=2.0)
OLD, NEW = "v1.13.9", "v1.14.1"


@contextlib.asynccontextmanager
async def loaded(
    folder: Path, tool: Callable[[str], Path], bundle: Bundle, planes: int, workers: int
) -> AsyncIterator[tuple[Upgrading, Cluster]]:
    """A cluster with Deployments, a StatefulSet and budgets that one worker at a time can keep."""

    async def find(name: str) -> Path:
        return tool(name)

    lab = NodeSite(folder, find, bundle, workloads=True, timing=TIMING)
    names = [f"cp-{n}" for n in range(1, planes + 1)] + [f"w-{n}" for n in range(1, workers + 1)]
    try:
        await lab.start(*names)
        for name in names:
            await lab.lab.listening(name)
        up = await lab.run("kubeconfig", PATIENT)
        assert up.error is None, up.error
        await lab.lab.ready(*names)
        api = lab.lab.host.fabric.kube_api(bundle.cluster_id)
        assert api is not None
        cluster = Cluster(api)
        await deploy(api, *shop(workers))
        await until(partial(cluster.ready, "web", max(2, workers)))
        await until(partial(cluster.ready, "db", 3 if workers > 1 else 1))
        yield Upgrading(Rolling(lab)), cluster
    finally:
        await lab.lab.close()


SIZES = [
    pytest.param(3, 2, id="3+2"),
    pytest.param(1, 1, id="1+1", marks=pytest.mark.chaos),
    pytest.param(3, 3, id="3+3", marks=pytest.mark.chaos),
    pytest.param(5, 20, id="5+20", marks=pytest.mark.chaos),
]


@pytest.mark.sampled("upgrades of Talos")
@pytest.mark.parametrize(("planes", "workers"), SIZES)
async def test_workloads_are_not_disturbed(
    planes: int, workers: int, tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """Etcd keeps its majority, no budget is violated, each machine restarts exactly once."""
    async with loaded(tmp_path, tool, bundle, planes, workers) as (it, _):
        it.want(NEW)
        async with Probe(it.cluster.lab.lab.host, bundle.cluster_id) as probe:
            done = await it.up(options=RollOptions(drain_timeout=120.0))
        assert done.error is None, done.error
        if planes > 1:
            probe.report.require()
        else:
            assert not [i for i in probe.report.incidents if i.startswith("budget")]
        assert set(it.versions().values()) == {NEW}
        assert probe.report.restarts == dict.fromkeys(it.versions(), 1)
        assert (await it.up()).status is RunStatus.UNCHANGED
        await it.cluster.lab.assert_one_cluster()
