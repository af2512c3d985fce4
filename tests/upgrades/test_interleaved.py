"""From an old Talos with an old Kubernetes to new ones of both, in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import NodeSite
from tests.rolls.conftest import Rolling
from tests.upgrades.conftest import PATIENT, Upgrading

from talops.events import PlannedChange
from talops.pipeline.result import RunStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.sampled("upgrades of Talos")
async def test_both_in_one_run(tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle) -> None:
    """Talos 1.12 by its older call, 1.13 by the newer one, then Kubernetes, which needs both."""

    async def find(name: str) -> Path:
        return tool(name)

    lab = NodeSite(tmp_path, find, bundle)
    it = Upgrading(Rolling(lab))
    try:
        await lab.start("cp-1", "w-1", version="v1.12.11")
        it.want("v1.12.11", kubernetes="v1.35.4")
        for name in lab.lab.machines:
            await lab.lab.listening(name)
        up = await lab.run("kubeconfig", PATIENT)
        assert up.error is None, up.error
        await lab.lab.ready("cp-1", "w-1")
        assert set(it.versions().values()) == {"v1.12.11"}

        it.want("v1.14.1", kubernetes="v1.37.1")
        done = await it.up()
        assert done.error is None, done.error
        planned = [e.target for e in it.cluster.events if isinstance(e, PlannedChange)]
        assert planned == [
            "Talos v1.12.11 → v1.13.9",
            "Talos v1.13.9 → v1.14.1",
            "Kubernetes v1.35.4 → v1.36.4",
            "Kubernetes v1.36.4 → v1.37.1",
        ]
        assert set(it.versions().values()) == {"v1.14.1"}
        nodes = (await it.cluster.kube_nodes()).values()
        assert {n["status"]["nodeInfo"]["kubeletVersion"] for n in nodes} == {"v1.37.1"}
        assert (await it.up()).status is RunStatus.UNCHANGED
    finally:
        await lab.lab.close()
