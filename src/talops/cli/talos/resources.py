"""`talops talos get`: resources of nodes, as a table with the columns of the kind."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.app.talos_nodes import name_of
from talops.cli.talos.output import ask_all, emit, plain, raise_for, to_yaml
from talops.cli.talos.session import Format, Session, connected
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.talos.client import Talos
    from talops.talos.resources import Definition, Resource

_STEP = re.compile(r"\.?([A-Za-z0-9_-]+)|\[(\d+|\*)\]")


def add_to(app: typer.Typer) -> None:
    app.command("get")(connected(get))


async def get(
    session: Session,
    kind: Annotated[
        str,
        typer.Argument(help="Kind of resource, such as members, disks or links, or its full type."),
    ],
    id_: Annotated[str | None, typer.Argument(metavar="ID", help="Id of one resource.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Namespace (default: that of the kind).")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Watch for changes until interrupted.")
    ] = False,
) -> None:
    """Show the resources of a kind; `get rd` lists the kinds."""
    async with session.open() as nodes:
        if watch:
            await _watch_all(nodes, kind, id_, namespace, session.output)
            return

        async def read(node: Talos) -> tuple[Definition, list[Resource]]:
            definition = await node.resources.resolve(kind)
            space = namespace or definition.namespace
            if id_ is None:
                return definition, list(await node.resources.list(space, definition.type))
            return definition, [await node.resources.get(space, definition.type, id_)]

        answers, errors = await ask_all(nodes, read)
    columns = [name for name, _ in answers[0][1][0].columns] if answers else []
    rows = [
        _row(node, found, definition, session.output)
        for node, (definition, resources) in answers
        for found in resources
    ]
    heads = ["node", "namespace", "type", "id", "version", *columns]
    emit(rows, heads, session.output, errors)


def _row(node: str, found: Resource, definition: Definition, output: Format) -> dict[str, Any]:
    if output is not Format.TEXT:
        return as_document(node, found)
    shown = {name: look_up(found.spec, path) for name, path in definition.columns}
    base = {"node": node, "namespace": found.namespace, "id": found.id, "version": found.version}
    return {**base, "type": definition.display or found.type, **shown}


def as_document(node: str, found: Resource) -> dict[str, Any]:
    metadata = {
        name: getattr(found, name)
        for name in (
            "namespace", "type", "id", "version", "owner", "phase", "created", "updated",
            "labels", "annotations", "finalizers",
        )
    }  # fmt: skip
    return {"node": node, "metadata": metadata, "spec": found.spec}


def look_up(data: Any, path: str) -> Any:
    """The value at a JSON path such as `{.status.ready}` or `{.addresses[*].ip}`, or None."""
    inner = path.strip().removeprefix("{").removesuffix("}")
    for key, index in _STEP.findall(inner):
        if index == "*":
            continue  # a step into a list applies to each of its items
        if isinstance(data, list):
            data = _item(data, index) if index else [_member(item, key) for item in data]
        else:
            data = _member(data, key) if key else None
    return data


def _member(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _item(data: list[Any], index: str) -> Any:
    return data[int(index)] if int(index) < len(data) else None


async def _watch_all(
    nodes: list[Talos], kind: str, id_: str | None, namespace: str | None, output: Format
) -> None:
    async def follow(node: Talos) -> TalopsError | None:
        try:
            await _watch(node, kind, id_, namespace, output)
        except TalopsError as error:
            return error
        return None

    ended = await asyncio.gather(*(follow(node) for node in nodes))
    raise_for([error for error in ended if error])


async def _watch(
    node: Talos, kind: str, id_: str | None, namespace: str | None, output: Format
) -> None:
    import json

    definition = await node.resources.resolve(kind)
    space = namespace or definition.namespace
    async with aclosing(node.resources.watch(space, definition.type, id_)) as changes:
        async for change in changes:
            if change.resource is None or change.event == "bootstrapped":
                continue
            document = plain({"event": change.event, **as_document(name_of(node), change.resource)})
            if output is Format.JSON:
                sys.stdout.write(json.dumps(document, ensure_ascii=False) + "\n")
            elif output is Format.YAML:
                sys.stdout.write("---\n" + to_yaml(document))
            else:
                found = change.resource
                words = [name_of(node), change.event, found.type, found.id, found.version]
                words += [str(look_up(found.spec, path)) for _, path in definition.columns]
                sys.stdout.write("   ".join(words) + "\n")
            sys.stdout.flush()
