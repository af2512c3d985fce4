"""Destroy the VM of one node that has left the cluster, by OpenTofu, and nothing else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.render.layers import platform
from talops.site import layer_access as access
from talops.site.etcd_guard import guard_of
from talops.site.state.copies import copies_around
from talops.tofu.apply import fleeting
from talops.tofu.apply_options import ApplyOptions
from talops.tofu.ordering import DEFAULT_PARALLELISM
from talops.tofu.plan import module_key
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from pathlib import Path

    from talops.pipeline.stage import Reporter
    from talops.site.site import Site
    from talops.tofu.apply import Applier
    from talops.tofu.engine import Engine


class VmRemoval:
    """The layer of the nodes. A node that is still in the inventory is created again later."""

    def __init__(self, site: Site, report: Reporter) -> None:
        self._site = site
        self._report = report
        self._layer = platform(site.cluster).at(site.root)
        # One plan at a time: each locks the state.
        self._turn = asyncio.Lock()

    async def names(self) -> frozenset[str]:
        """Nodes with a VM in the state."""
        if not self._layer.path.is_dir():
            return frozenset()
        listed = await (await self._engine()).state_list()
        return frozenset(name for address in listed if (name := module_key(address)))

    async def destroy(self, name: str) -> None:
        """The VM and its disks, if the state lists them."""
        async with self._turn:
            engine = await self._engine()
            if name in await self.names():
                await self._destroy(engine, name, f'module.node["{name}"]')
            await self._settle(engine)

    async def _destroy(self, engine: Engine, name: str, module: str) -> None:
        with fleeting(self._saved) as saved:
            if await engine.plan(saved, destroy=True, targets=[module]):
                with copies_around(self._site.root, self._site.cluster):
                    await self._applier(engine, name, module).apply(saved)

    async def _settle(self, engine: Engine) -> None:
        """A plan with targets leaves outputs as they were."""
        with fleeting(self._saved) as saved:
            if not await engine.plan(saved):
                return
            plan = await engine.show(saved)
            if not plan.acts and plan.outputs_change:
                await self._site.fence.check()
                await engine.apply(saved, parallelism=DEFAULT_PARALLELISM)

    @property
    def _saved(self) -> Path:
        return access.saved_plan(self._layer).with_suffix(".leaving.tfplan")

    def _applier(self, engine: Engine, name: str, module: str) -> Applier:
        policy = Policy(allow_destroy=frozenset({name}))
        options = ApplyOptions(
            policy,
            guard=guard_of(self._site, self._site.secrets, policy),
            destroy=True,
            targets=(module,),
        )
        return access.applier(self._site, self._layer, engine, options)

    async def _engine(self) -> Engine:
        engine = access.engine(self._site, self._layer, self._report.event)
        await access.ensure_init(self._site.root, engine, access.variables(self._site, self._layer))
        return engine
