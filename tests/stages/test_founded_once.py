"""A cluster that lost its control planes, seen from its own directory and from fresh clones."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.harness import until
from tests.lab.talos.site import QUICK
from tests.stages.test_node_faults import standing

from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.site.founding.record import COMMITTED, RECORD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lab.talos.site import NodeSite

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.pipeline.result import RunResult

pytestmark = pytest.mark.slow
PLANES = ("cp-1", "cp-2", "cp-3")
REINSTALLED = Admission(reinstall=frozenset(PLANES))


@pytest.mark.sampled("stages on nodes")
async def test_nothing_is_founded_twice(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """Neither with a lost majority, nor with all control planes gone, nor by a colleague."""
    async with standing(tmp_path, tool, bundle) as site:
        await site.start(*PLANES, "w-1")
        for name in (*PLANES, "w-1"):
            await site.lab.listening(name)
        first = await site.run("workers", QUICK)
        assert first.error is None, first.error
        await site.assert_one_cluster()
        await until(partial(_joined, site))
        assert (site.root / COMMITTED).stat().st_mode & 0o777 == 0o644

        await _blank(site, "cp-2", "cp-3")
        for admission in (NOTHING_SAID, REINSTALLED):
            lost = await site.run("bootstrap", QUICK, admission=admission)
            assert "etcd has lost its majority: 2 members of 3 without data (cp-2, cp-3)" in str(
                lost.error
            )
            hint = lost.error.hint if lost.error else None
            assert f"--nodes {site.lab.address('cp-1')}" in (hint or "")

        await _blank(site, *PLANES)
        origin = site.root
        _refused(await site.run("bootstrap", QUICK), "each is back in maintenance mode")
        _refused(
            await site.run("bootstrap", QUICK, admission=REINSTALLED),
            "this directory bootstrapped it",
        )
        for left_out, said in (
            ((RECORD,), "the repository says so"),
            ((RECORD, COMMITTED), "w-1 has joined its Kubernetes"),
        ):
            _clone(site, origin, left_out)
            _refused(await site.run("bootstrap", QUICK), said)
        assert site.lab.host.fabric.foundings == {bundle.cluster_id: ["cp-1"]}


async def _joined(site: NodeSite) -> bool:
    return site.lab.node("w-1").store.joined


async def _blank(site: NodeSite, *names: str) -> None:
    """New machines with the same names and addresses."""
    for name in names:
        machine = site.lab.machines[name]
        await site.lab.host.destroy(machine.uuid)
        await site.lab.host.power_on(machine)
    for name in names:
        await site.lab.listening(name)


def _clone(site: NodeSite, origin: Path, left_out: tuple[str, ...]) -> None:
    """What git would bring to another machine, without these files."""
    names = shutil.ignore_patterns(".talops", "clusterconfig", "kubeconfig")
    site.root = origin.with_name(f"clone-{len(left_out)}")
    shutil.copytree(origin, site.root, ignore=names)
    for name in left_out:
        (site.root / name).unlink(missing_ok=True)


def _refused(result: RunResult, said: str) -> None:
    assert "bootstrapped before, but no control plane has etcd data" in str(result.error)
    assert said in str(result.error)
    hint = result.error.hint if result.error else None
    assert "talops recover --bootstrap-again lab" in (hint or "")
