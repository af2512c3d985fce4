"""Control planes that join a running cluster vote one after the other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import NodeSite

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PLANES = ("cp-1", "cp-2", "cp-3")


class Joins:
    """Samples who has a config, and who votes."""

    def __init__(self, site: NodeSite) -> None:
        self._site = site
        self.most = 0
        self.samples = 0

    async def sample(self) -> None:
        while True:
            configured = {n for n in PLANES if self._site.lab.node(n).config is not None}
            self.most = max(self.most, len(configured - await self._voters()))
            self.samples += 1
            await asyncio.sleep(0)

    async def _voters(self) -> set[str]:
        etcd = self._site.lab.node("cp-1").control_plane.etcd
        assert etcd is not None
        try:
            members = await etcd.client.members()
        except TalopsError:  # it elects a leader
            return set(PLANES)
        return {member.name for member in members if not member.learner}


@pytest.mark.sampled("stages on nodes")
async def test_two_new_control_planes(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """The second one gets its config when the first one is a voting member."""

    async def find(name: str) -> Path:
        return tool(name)

    site = NodeSite(tmp_path, find, bundle)
    try:
        await site.start(*PLANES, "w-1")
        file = site.root / "nodes.yaml"
        text = file.read_text()
        lines = text.splitlines(keepends=True)
        file.write_text("".join(x for x in lines if "cp-2" not in x and "cp-3" not in x))
        for name in (*PLANES, "w-1"):
            await site.lab.listening(name)
        first = await site.run("kubeconfig")
        assert first.error is None, first.error
        file.write_text(text)
        joins = Joins(site)
        sampling = asyncio.create_task(joins.sample())
        second = await site.run("bootstrap")
        sampling.cancel()
        assert second.error is None, second.error
        assert joins.samples > 1
        assert joins.most == 1
        await site.assert_one_cluster()
    finally:
        await site.lab.close()
