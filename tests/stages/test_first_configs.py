"""Many first configs at once, each looked at all the time while its node swaps certificates."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import QUICK
from tests.stages.test_node_faults import standing

from talops.inventory.load import load
from talops.machineconfig.build import build_configs
from talops.site.fleet import Configured, Fleet, InMaintenance, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.inventory.model import Node
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.site.fleet import State

pytestmark = pytest.mark.slow


@pytest.mark.timeout(300)
@pytest.mark.parametrize("count", [6, pytest.param(50, marks=pytest.mark.chaos)])
async def test_no_node_is_taken_for_foreign(
    count: int, tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """Whatever moment of the swap a look hits: waiting, silent or configured, never an error."""
    async with standing(tmp_path, tool, bundle) as site:
        names = [f"cp-{number}" for number in range(1, count + 1)]
        await site.start(*names)
        for name in names:
            await site.lab.listening(name)
        cluster = load(site.root).require()
        configs = build_configs(cluster, bundle, lambda _: "")
        fleet = Fleet(bundle)

        async def first(node: Node) -> list[type[State]]:
            async with fleet.maintenance(node) as talos:
                await talos.machine.apply_configuration(configs[node.name].to_yaml())
            seen: list[type[State]] = []
            async with asyncio.timeout(QUICK.install):
                while Configured not in seen:
                    seen.append(type(await fleet.look(node)))
            return seen

        for node in cluster.nodes:  # one by one, so that the looks come quickly
            seen = await first(node)
            assert set(seen) <= {InMaintenance, Unreachable, Configured}
            assert seen[-1] is Configured
