"""Connections to the nodes and to Kubernetes: one certificate and one read of the secrets."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import TYPE_CHECKING, TypeVar

from talops.errors import TalopsError
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from talops.inventory.model import Node
    from talops.kube.kubeconfig import Kubeconfig
    from talops.kube.objects import Object
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.site.fleet import Fleet
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.talos.client import Talos

T = TypeVar("T")


class Connections:
    """Opened for each request, or once for all requests inside `one_look`."""

    def __init__(self, site: Site, secrets: SecretsFile) -> None:
        self.site = site
        self._secrets = secrets
        # Set during one round of checks: one connection to each node, shared by all checks.
        self._open: dict[str, Talos] | None = None
        self._kube: KubeClient | None = None

    async def bundle(self) -> Bundle:
        return await self._secrets.require()

    @contextlib.asynccontextmanager
    async def one_look(self) -> AsyncIterator[None]:
        """All requests inside share connections; a later round opens its own."""
        self._open = {}
        try:
            yield
        finally:
            opened, self._open = self._open, None
            kube, self._kube = self._kube, None
            for talos in opened.values():
                talos.close()
            if kube is not None:
                await kube.close()

    async def fleet(self) -> Fleet:
        return await self._secrets.fleet()

    async def ask(
        self, nodes: Iterable[Node], call: Callable[[Talos], Awaitable[T]]
    ) -> dict[str, T | TalopsError]:
        """Ask nodes in parallel; an error of one node does not affect the others."""
        fleet, listed = await self.fleet(), list(nodes)

        async def one(node: Node) -> T | TalopsError:
            async with self._connection(fleet, node) as talos:
                try:
                    return await call(talos)
                except TalopsError as error:
                    return error

        answers = await asyncio.gather(*(one(node) for node in listed))
        return {node.name: answer for node, answer in zip(listed, answers, strict=True)}

    @contextlib.asynccontextmanager
    async def _connection(self, fleet: Fleet, node: Node) -> AsyncIterator[Talos]:
        if self._open is None:
            async with fleet.talos(node) as talos:
                yield talos
            return
        if node.name not in self._open:
            self._open[node.name] = fleet.talos(node)
        yield self._open[node.name]

    @contextlib.asynccontextmanager
    async def kube(self) -> AsyncIterator[KubeClient]:
        if self._open is None:
            async with await self._client() as kube:
                yield kube
        else:
            self._kube = self._kube or await self._client()
            yield self._kube

    async def _client(self) -> KubeClient:
        """A context of the same name may be that of another cluster: its CA tells."""
        config = load(self.site.kubeconfig, self.site.cluster.name)
        if config is None:
            raise TalopsError(
                "there is no kubeconfig",
                where=str(self.site.kubeconfig),
                hint="talops up --only kubeconfig",
            )
        bundle = await self._secrets.read()
        if bundle and not trusts(config, bundle):
            raise TalopsError(
                f"the context {self.site.cluster.name} is that of another cluster: it has another "
                "CA",
                where=str(self.site.kubeconfig),
                hint="talops up --only kubeconfig",
            )
        return KubeClient(config)

    async def kube_nodes(self) -> dict[str, Object]:
        async with self.kube() as kube:
            return {node["metadata"]["name"]: node for node in await kube.list_all("v1", "Node")}


def trusts(config: Kubeconfig, bundle: Bundle) -> bool:
    """Whether a kubeconfig is for the cluster of these secrets."""
    own = base64.b64decode(bundle.k8s.crt).decode().split()
    given = " ".join((config.ca or "").split())
    return " ".join(own) in given


def errors_of(answers: dict[str, T | TalopsError]) -> dict[str, TalopsError]:
    return {name: answer for name, answer in answers.items() if isinstance(answer, TalopsError)}


def values_of(answers: dict[str, T | TalopsError]) -> dict[str, T]:
    return {name: a for name, a in answers.items() if not isinstance(a, TalopsError)}
