"""A VIP, workers and no discovery service: the air-gapped cluster, from nothing to verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import QUICK, NodeSite
from tests.stages.test_node_faults import TIMING

from talops.events import Note
from talops.pipeline.result import RunStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = pytest.mark.slow
NODES = ("cp-1", "cp-2", "w-1")


@pytest.mark.sampled("stages on nodes")
@pytest.mark.timeout(300)
async def test_up_and_verify(tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle) -> None:
    """The worker's API opens only behind etcd; verify passes and says once what it compared."""

    async def find(name: str) -> Path:
        return tool(name)

    site = NodeSite(tmp_path, find, bundle, timing=TIMING, discovery=False)
    try:
        await site.start(*NODES)
        for name in NODES:
            await site.lab.listening(name)
        first = await site.run("verify", QUICK)
        assert first.status is RunStatus.DONE, first.error
        assert all(site.lab.node(name).status.ready for name in NODES)
        notes = [e.message for e in site.events if isinstance(e, Note)]
        assert len([note for note in notes if "discovered another node" in note]) == 1, notes

        site.events.clear()
        second = await site.run("verify", QUICK)
        assert second.status is RunStatus.UNCHANGED, second.error
    finally:
        await site.lab.close()
