"""The nodes of a `talops talos` command, and the connections to them."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from talops.cli.options import Directory
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.talos.client import Talos
    from talops.talosconfig import Context

R = TypeVar("R")


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


@dataclass(frozen=True)
class Session:
    """The connection options of one command."""

    directory: Path
    talosconfig: Path | None
    context: str | None
    nodes: tuple[str, ...]
    endpoints: tuple[str, ...]
    insecure: bool
    fingerprints: tuple[str, ...]
    output: Format

    def named_nodes(self) -> None:
        """Do not guess the nodes of a command that changes them."""
        if not self.nodes:
            raise TalopsError("name the nodes with --nodes: this command changes them")

    def load(self) -> Context:
        from talops.talos import talosconfig

        path = self.talosconfig or default_talosconfig(self.directory)
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


def default_talosconfig(directory: Path) -> Path:
    """The talosconfig of the project if it exists, else that of talosctl."""
    own = directory / "talos" / "clusterconfig" / "talosconfig"
    return own if own.exists() else Path.home() / ".talos" / "config"


def connected(command: Callable[..., Awaitable[R]]) -> Callable[..., R]:
    """Give a command, written as a coroutine on a Session, the options of a Session."""
    hints = get_type_hints(command, include_extras=True)
    own = list(inspect.signature(command).parameters.values())[1:]
    shared = list(inspect.signature(_options, eval_str=True).parameters.values())
    names = {p.name for p in shared}

    @functools.wraps(command)
    def run(**given: Any) -> R:
        session = _options(**{name: given.pop(name) for name in names})
        return asyncio.run(_await(command(session, **given)))

    parameters = [p.replace(annotation=hints[p.name]) for p in own] + shared
    as_keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    run.__signature__ = inspect.Signature(as_keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    del run.__wrapped__  # or typer would read the inner signature
    return run


async def _await(work: Awaitable[R]) -> R:
    return await work


def _split(values: list[str] | None) -> tuple[str, ...]:
    """Both `--nodes a,b` and `--nodes a --nodes b`."""
    return tuple(part for value in values or () for part in value.split(",") if part)


def _options(
    directory: Directory = None,
    talosconfig: Annotated[
        Path | None,
        typer.Option(
            help="Talosconfig file.",
            envvar=["TALOSCONFIG", "TALOPS_TALOSCONFIG"],
            show_default="talos/clusterconfig/talosconfig, else ~/.talos/config",
        ),
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the talosconfig.")] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option("--nodes", "-n", help="Nodes to run on (default: those of the context)."),
    ] = None,
    endpoints: Annotated[
        list[str] | None,
        typer.Option(
            "--endpoints", "-e", help="Endpoints to connect to (default: those of the context)."
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", "-i", help="Connect to nodes in maintenance mode, without a CA."
        ),
    ] = False,
    cert_fingerprint: Annotated[
        list[str] | None,
        typer.Option(help="With --insecure: accept only a node with this key (base64 SHA-256)."),
    ] = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="Output format.")] = Format.TEXT,
) -> Session:
    return Session(
        directory=directory or Path.cwd(),
        talosconfig=talosconfig,
        context=context,
        nodes=_split(nodes),
        endpoints=_split(endpoints),
        insecure=insecure,
        fingerprints=_split(cert_fingerprint),
        output=output,
    )
