"""Where the controller manager and the scheduler of a cluster run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.lab.kubernetes.controllers import PROGRAMS, Controllers, ControllerSettings

if TYPE_CHECKING:
    from talops.lab.kubernetes.process import Process
    from talops.lab.talos.machine.node import Node


class Leader:
    """Of one control plane; only that of the leader runs them."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._controllers: Controllers | None = None
        self._moving = asyncio.Lock()

    @property
    def processes(self) -> list[Process]:
        return self._controllers.processes if self._controllers is not None else []

    async def follow(self) -> None:
        """Start them, start them again after an end, or leave them to another control plane."""
        node = self._node
        if not node.settings.workloads or node.config is None:
            return
        async with self._moving:
            if node.fabric.leader(node.config.cluster_id) is not node:
                await self._stop(grace=5.0)
                return
            settings = await self._settings()
            if self._controllers is not None and self._controllers.settings != settings:
                await self._stop(grace=5.0)
            if self._controllers is None:
                self._controllers = Controllers(settings)
            if not self._controllers.running:
                await self._controllers.start()

    async def stop(self, *, grace: float) -> None:
        async with self._moving:
            await self._stop(grace=grace)

    async def _stop(self, *, grace: float) -> None:
        if self._controllers is not None:
            await self._controllers.stop(grace=grace)
            self._controllers = None

    async def _settings(self) -> ControllerSettings:
        node, config = self._node, self._node.config
        assert config is not None
        return ControllerSettings(
            binaries={name: await node.settings.tools(name) for name in PROGRAMS},
            directory=node.store.kubernetes,
            address=node.addresses[0],
            cluster_name=config.cluster_name,
            ca=config.authority("ca"),
            root_cas=config.trusted_kubernetes_cas,
            service_account_key=config.service_account_key,
            pod_cidrs=config.pod_cidrs,
            service_cidrs=config.service_cidrs,
            grace=node.settings.timing.grace,
        )
