"""Clients that never stop calling while a rotation runs, as dashboards and operators do.

Like kubectl and talosctl, they read their kubeconfig and talosconfig for each call.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.events import ChangeFinished, ChangeStarted
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load
from talops.machineconfig.places import TALOSCONFIG
from talops.rotation.files import renew_talosconfig
from talops.talos import talosconfig
from talops.talos.client import Talos

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.rotation.conftest import Rotating

    from talops.events import Event
    from talops.inventory.model import Node

PAUSE = 1.0


@dataclass(frozen=True)
class Failure:
    """`during`: the nodes that were being changed at the moment of the call, or right before."""

    api: str
    node: str
    what: str
    during: frozenset[str]


class Clients:
    """One for each API of each node."""

    def __init__(self, cluster: Rotating) -> None:
        self._cluster = cluster
        self._changing: set[str] = set()
        self._recent: frozenset[str] = frozenset()
        self.calls = 0
        self.failures: list[Failure] = []

    def follow(self, event: Event) -> None:
        """What the run lists as the restart of a node."""
        if isinstance(event, ChangeStarted) and event.node:
            self._changing.add(event.node)
            self._recent |= {event.node}
        elif isinstance(event, ChangeFinished) and event.node:
            self._changing.discard(event.node)

    @contextlib.asynccontextmanager
    async def calling(self) -> AsyncIterator[None]:
        from datetime import UTC, datetime

        site = self._cluster.site()
        renew_talosconfig(site.root, site.cluster, self._cluster.bundle, datetime.now(UTC))
        tasks = [asyncio.create_task(self._talos(node)) for node in site.cluster.nodes]
        tasks += [
            asyncio.create_task(self._kubernetes(node)) for node in site.cluster.control_planes
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        broken = [end for end in ends if not isinstance(end, asyncio.CancelledError)]
        assert not broken, broken

    async def _talos(self, node: Node) -> None:
        path = self._cluster.lab.root / TALOSCONFIG
        while True:
            context = talosconfig.pick(talosconfig.read(path))
            self._begin()
            try:
                credentials = talosconfig.credentials_of(context)
                async with Talos.connect(str(node.address), credentials) as talos:
                    await talos.version()
            except TalopsError as error:
                self._failed("talos", node, error)
            await asyncio.sleep(PAUSE)

    async def _kubernetes(self, node: Node) -> None:
        path = self._cluster.lab.root / "kubeconfig"
        while True:
            config = load(path, "lab")
            assert config is not None
            self._begin()
            try:
                own = replace(config, server=f"https://{node.address}:6443")
                async with KubeClient(own) as kube:
                    await kube.get_json("/api/v1/namespaces")
            except TalopsError as error:
                self._failed("kubernetes", node, error)
            await asyncio.sleep(PAUSE)

    def _begin(self) -> None:
        self.calls += 1
        self._recent = frozenset(self._changing)

    def _failed(self, api: str, node: Node, error: TalopsError) -> None:
        during = frozenset(self._changing) | self._recent
        self.failures.append(Failure(api, node.name, str(error), during))
