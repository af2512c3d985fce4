"""`talops talos` read-only commands: version, services, disks, logs, events, health."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from talops.app.talos_nodes import name_of
from talops.cli.output import note, print_json
from talops.cli.talos.output import ask_all, emit, plain, raise_for, row
from talops.cli.talos.session import Format, Session, connected
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.talos.client import Talos


def add_to(app: typer.Typer) -> None:
    app.command("version")(connected(version))
    app.command("services")(connected(services))
    app.command("disks")(connected(disks))
    app.command("logs")(connected(logs))
    app.command("dmesg")(connected(dmesg))
    app.command("events")(connected(events))
    app.command("health")(connected(health))


async def version(session: Session) -> None:
    """Show the Talos version and platform of nodes."""
    async with session.open() as nodes:
        answers, errors = await ask_all(nodes, lambda node: node.version())
    rows = [row(node, found) for node, found in answers]
    emit(rows, ["node", "tag", "platform", "mode", "arch", "sha", "built"], session.output, errors)


async def services(
    session: Session,
    name: Annotated[
        str | None, typer.Argument(metavar="SERVICE", help="Show the history of this service.")
    ] = None,
) -> None:
    """List the services of nodes with their health, or the history of one."""
    async with session.open() as nodes:
        answers, errors = await ask_all(nodes, lambda node: node.services.list())
    found = [(node, s) for node, all_ in answers for s in all_ if name in {None, s.id}]
    if name and not found and not errors:
        raise TalopsError(f"there is no service {name!r}", hint="talops talos services")
    if name and session.output is Format.TEXT:
        history = [{"service": s.id, **row(node, event)} for node, s in found for event in s.events]
        emit(history, ["node", "service", "time", "state", "message"], session.output, errors)
        return
    rows = [row(node, service) for node, service in found]
    emit(rows, ["node", "id", "state", "healthy", "changed", "message"], session.output, errors)


async def disks(session: Session) -> None:
    """List the disks of nodes; use --insecure before the installation."""
    async with session.open() as nodes:
        answers, errors = await ask_all(nodes, lambda node: node.storage.disks())
    rows = [row(node, disk) for node, found in answers for disk in found]
    heads = ["node", "device", "size", "type", "model", "serial", "wwid", "system", "readonly"]
    emit(rows, heads, session.output, errors)


async def logs(
    session: Session,
    service: Annotated[
        str, typer.Argument(help="Name of a Talos service, or with -k the id of a container.")
    ],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow new lines.")] = False,
    tail: Annotated[int, typer.Option(help="Number of last lines to show (-1 for all).")] = -1,
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", "-k", help="Show the log of a Kubernetes container.")
    ] = False,
) -> None:
    """Show the log of a service."""
    async with session.open() as nodes:
        await _print_all(
            nodes,
            lambda node: node.logs.logs(service, follow=follow, tail=tail, kubernetes=kubernetes),
        )


async def dmesg(
    session: Session,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow new lines.")] = False,
    tail: Annotated[
        bool, typer.Option("--tail", help="With --follow: show only new lines.")
    ] = False,
) -> None:
    """Show the kernel log."""
    async with session.open() as nodes:
        await _print_all(nodes, lambda node: node.logs.dmesg(follow=follow, tail=tail))


async def events(
    session: Session,
    tail: Annotated[
        int, typer.Option(help="Number of past events to show first (-1 for all).")
    ] = 0,
) -> None:
    """Show events of nodes until interrupted."""
    import json

    async def lines(node: Talos) -> AsyncGenerator[bytes]:
        async with aclosing(node.logs.events(tail=tail)) as stream:
            async for event in stream:
                document = {"node": name_of(node), "kind": type(event.change).__name__}
                document |= plain(event.change)
                if session.output is Format.JSON:
                    yield json.dumps(document).encode() + b"\n"
                else:
                    yield "   ".join(str(value) for value in document.values()).encode() + b"\n"

    async with session.open() as nodes:
        await _print_all(nodes, lines, prefix=False)


async def health(
    session: Session,
    control_planes: Annotated[
        list[str] | None,
        typer.Option(help="Control planes to check (default: those of the inventory)."),
    ] = None,
    workers: Annotated[
        list[str] | None, typer.Option(help="Workers to check (default: those of the inventory).")
    ] = None,
    wait: Annotated[int, typer.Option(help="Maximum time for the checks to pass.")] = 300,
) -> None:
    """Run the health checks of Talos for the whole cluster."""
    lines: list[str] = []
    asked = (tuple(control_planes or ()), tuple(workers or ()))
    planes, others = asked if any(asked) else _of_the_inventory(session)
    async with session.open(control_planes=True) as nodes:
        checks = nodes[0].cluster.health(planes, others, wait=timedelta(seconds=wait))
        async with aclosing(checks):
            async for line in checks:
                lines.append(line)
                note(line)
    if session.output is Format.JSON:
        print_json({"healthy": True, "checks": lines})
    else:
        sys.stdout.write("the cluster is healthy\n")


def _of_the_inventory(session: Session) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes of the inventory, if this is its cluster; else the node uses its discovery.

    Without a discovery service, a node does not know the others and its check never ends.
    """
    from talops.inventory.load import load

    if not (session.directory / "cluster.yaml").exists():
        return (), ()
    cluster = load(session.directory).require()
    if cluster.name != session.load().name:
        return (), ()
    planes = {str(node.address) for node in cluster.control_planes}
    found = [str(node.address) for node in cluster.nodes]
    return tuple(a for a in found if a in planes), tuple(a for a in found if a not in planes)


async def _print_all(
    nodes: list[Talos],
    stream: Callable[[Talos], AsyncGenerator[bytes]],
    *,
    prefix: bool = True,
) -> None:
    """Whole lines of several nodes, each prefixed with the name of its node."""
    named = prefix and len(nodes) > 1

    async def follow(node: Talos) -> TalopsError | None:
        head = f"{name_of(node)}: ".encode() if named else b""
        try:
            await _print_lines(stream(node), head)
        except TalopsError as error:
            return error
        return None

    ended = await asyncio.gather(*(follow(node) for node in nodes))
    raise_for([error for error in ended if error])


async def _print_lines(pieces: AsyncGenerator[bytes], head: bytes) -> None:
    rest = b""
    async with aclosing(pieces):
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                _write(head + line + b"\n")
    if rest:
        _write(head + rest + b"\n")


def _write(line: bytes) -> None:
    sys.stdout.write(line.decode(errors="replace"))
    sys.stdout.flush()
