"""The nodes that a talosconfig opens, or those in maintenance mode, and connections to them."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from talops.talos.client import Talos
    from talops.talosconfig import Context


@dataclass(frozen=True)
class NodeAccess:
    """Which nodes, and how they are reached."""

    talosconfig: Path
    context: str | None = None
    nodes: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    insecure: bool = False
    fingerprints: tuple[str, ...] = ()

    def named_nodes(self) -> None:
        """Do not guess the nodes of a command that changes them."""
        if not self.nodes:
            raise TalopsError("name the nodes with --nodes: this command changes them")

    def load(self) -> Context:
        from talops.talos import talosconfig

        path = self.talosconfig
        return talosconfig.pick(talosconfig.read(path), self.context, where=str(path))

    @asynccontextmanager
    async def open(self, *, control_planes: bool = False) -> AsyncIterator[list[Talos]]:
        """One client per node: direct where the node is an endpoint, else through one.

        Without --nodes these are the context's, or its endpoints where only `control_planes` have
        an answer.
        """
        async with AsyncExitStack() as stack:
            if self.insecure:
                yield self._in_maintenance(stack)
            else:
                yield await self._in_cluster(stack, control_planes=control_planes)

    def _in_maintenance(self, stack: AsyncExitStack) -> list[Talos]:
        from talops.talos.client import Talos
        from talops.talos.credentials import Maintenance

        self.named_nodes()
        access = Maintenance(self.fingerprints)
        nodes = [Talos.connect(node, access) for node in self.nodes]
        for node in nodes:
            stack.callback(node.close)
        return nodes

    async def _in_cluster(self, stack: AsyncExitStack, *, control_planes: bool) -> list[Talos]:
        from talops.talos.client import Talos
        from talops.talos.talosconfig import credentials_of

        context = self.load()
        credentials = credentials_of(context)
        endpoints = self.endpoints or context.endpoints
        wanted = self.nodes or (() if control_planes else context.nodes) or endpoints
        proxy: Talos | None = None
        found = []
        for name in wanted:
            if name in endpoints:
                node = Talos.connect(name, credentials)
                stack.callback(node.close)
                found.append(node)
                continue
            if proxy is None:
                proxy = await Talos.connect_any(endpoints, credentials)
                stack.callback(proxy.close)
            found.append(proxy.node(name))
        if not found:
            raise TalopsError("no nodes to connect to", hint="pass --nodes and --endpoints")
        return found


def name_of(node: Talos) -> str:
    """As the user named it, or the address of the connection."""
    return node.caller.route.node or node.link.where


def default_talosconfig(directory: Path, home: Path) -> Path:
    """The talosconfig of the project if it exists, else that of talosctl."""
    own = directory / "talos" / "clusterconfig" / "talosconfig"
    return own if own.exists() else home / ".talos" / "config"
