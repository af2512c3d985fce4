"""Clusters of the lab that can be rolled: real etcd and API servers, no hypervisor."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.site import QUICK, NodeSite

from talops.events import PartProgress
from talops.inventory.load import load
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load as load_kubeconfig
from talops.pipeline.stage import Reporter
from talops.rolls.options import DEFAULT
from talops.rolls.roller import Roller
from talops.rolls.turn import Turn
from talops.site.secrets_file import SecretsFile
from talops.site.site import Site
from talops.talos.errors import OutcomeUnknownError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from talops.events import Event
    from talops.inventory.model import Node
    from talops.kube.objects import Object
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.rolls.options import RollOptions


class Rolling:
    """A running cluster and what a stage would do with it."""

    def __init__(self, lab: NodeSite) -> None:
        self.lab = lab
        self.events: list[Event] = []

    @property
    def site(self) -> Site:
        nothing: Any = None
        root = self.lab.root
        return Site(load(root).require(), root, {}, {}, nothing, root, root / "kubeconfig", QUICK)

    def secrets(self, site: Site) -> SecretsFile:
        return SecretsFile(site, lambda *_: None)

    def roller(self, options: RollOptions = DEFAULT) -> Roller:
        site = self.site
        return Roller(site, self.secrets(site), options)

    @property
    def report(self) -> Reporter:
        return Reporter("roll", self.events.append)

    def node(self, name: str) -> Node:
        return next(node for node in self.site.cluster.nodes if node.name == name)

    def reboot(self, name: str, before: Callable[[], Awaitable[None]] | None = None) -> Turn:
        """A turn that reboots the node, after `before`."""
        node = self.node(name)

        async def act() -> None:
            if before:
                await before()
            fleet = await self.secrets(self.site).fleet()
            async with fleet.talos(node) as talos:
                with contextlib.suppress(OutcomeUnknownError):
                    await talos.machine.reboot()

        return Turn(node, "reboot", act)

    @contextlib.asynccontextmanager
    async def kube(self) -> AsyncIterator[KubeClient]:
        config = load_kubeconfig(self.lab.root / "kubeconfig", "lab")
        assert config
        async with KubeClient(config) as client:
            yield client

    async def kube_nodes(self) -> dict[str, Object]:
        async with self.kube() as client:
            return {n["metadata"]["name"]: n for n in await client.list_all("v1", "Node")}

    def boots(self) -> dict[str, str]:
        return {name: self.lab.lab.node(name).boot_id for name in self.lab.lab.machines}

    def steps(self) -> list[tuple[str, str]]:
        """(step, node) of everything that was done, in order."""
        return [
            (event.doing, event.part)
            for event in self.events
            if isinstance(event, PartProgress) and event.phase == "done"
        ]


@pytest.fixture
def rolling(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> Callable[..., contextlib.AbstractAsyncContextManager[Rolling]]:
    """Start a cluster of these nodes, with a kubeconfig."""

    @contextlib.asynccontextmanager
    async def make(*names: str, **settings: Any) -> AsyncIterator[Rolling]:
        async def find(name: str) -> Path:
            return tool(name)

        lab = NodeSite(tmp_path, find, bundle)
        try:
            await lab.start(*names, **settings)
            for name in names:
                await lab.lab.listening(name)
            up = await lab.run("kubeconfig")
            assert up.error is None, up.error
            await lab.lab.ready(*names)
            yield Rolling(lab)
        finally:
            await lab.lab.close()

    return make
