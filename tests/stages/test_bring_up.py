"""From maintenance mode to all Ready, and a second run that finds nothing to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import NodeSite

from talops.lab.talos.machine.stages import Stage
from talops.pipeline.result import RunStatus
from talops.site.site import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = pytest.mark.slow
PATIENT = Limits(interval=0.2)
LARGE = pytest.mark.chaos


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("planes", "workers"),
    [(1, 2), pytest.param(3, 3, marks=LARGE), pytest.param(5, 20, marks=LARGE)],
)
async def test_all_ready_and_then_nothing_to_do(
    planes: int, workers: int, tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """Every control plane has its own etcd and API server; the second run leaves all alone."""

    async def find(name: str) -> Path:
        return tool(name)

    site = NodeSite(tmp_path, find, bundle)
    names = [f"cp-{n}" for n in range(1, planes + 1)] + [f"w-{n}" for n in range(1, workers + 1)]
    try:
        await site.start(*names)
        for name in names:
            await site.lab.listening(name)
        first = await site.run("verify", PATIENT)
        assert first.status is RunStatus.DONE, first.error
        assert all(site.lab.node(name).status.ready for name in names)
        assert all(site.lab.node(name).status.stage is Stage.RUNNING for name in names)
        await site.assert_one_cluster()

        boots = {name: site.lab.node(name).boot_id for name in names}
        second = await site.run("verify", PATIENT)
        assert second.status is RunStatus.UNCHANGED, second.error
        assert {name: site.lab.node(name).boot_id for name in names} == boots
        said = [line for name in names for line in site.lab.node(name).journal.kernel.items()]
        assert not any("apply config request" in line for line in said), "applied a second time"
    finally:
        await site.lab.close()
