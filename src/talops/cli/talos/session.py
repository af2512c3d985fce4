"""The nodes of a `talops talos` command, and the connections to them."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from talops.app.talos_nodes import NodeAccess, default_talosconfig
from talops.cli.options import Directory

R = TypeVar("R")


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


@dataclass(frozen=True)
class Session(NodeAccess):
    """The connection options of one command."""

    directory: Path = Path()
    output: Format = Format.TEXT


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
            help="Talosconfig file (default: of this directory, else of talosctl).",
            envvar=["TALOSCONFIG", "TALOPS_TALOSCONFIG"],
        ),
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the talosconfig.")] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            "--nodes",
            "-n",
            help="Nodes to run on (default: those of the context).",
            envvar="TALOPS_TALOS_NODES",
        ),
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
    output: Annotated[
        Format, typer.Option("-o", "--output", metavar="FORMAT", help="text, json or yaml.")
    ] = Format.TEXT,
) -> Session:
    root = directory or Path.cwd()
    return Session(
        directory=root,
        talosconfig=talosconfig or default_talosconfig(root, Path.home()),
        context=context,
        nodes=_split(nodes),
        endpoints=_split(endpoints),
        insecure=insecure,
        fingerprints=_split(cert_fingerprint),
        output=output,
    )
