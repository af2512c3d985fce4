"""`talops talos schematic`: compute ids of Image Factory schematics offline."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import print_json
from talops.errors import TalopsError

FACTORY = "https://factory.talos.dev"


def add_to(app: typer.Typer) -> None:
    app.command("schematic")(schematic)


def schematic(
    directory: Directory = None,
    extension: Annotated[
        list[str] | None, typer.Option("--extension", help="System extension; repeatable.")
    ] = None,
    kernel_arg: Annotated[
        list[str] | None, typer.Option("--kernel-arg", help="Kernel argument; repeatable.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="YAML file of a schematic (- for stdin).")
    ] = None,
    register: Annotated[
        bool, typer.Option("--register", help="Also register the schematic with the Image Factory.")
    ] = False,
    factory: Annotated[
        str | None, typer.Option(help="URL of the Image Factory (default: that of the inventory).")
    ] = None,
    output: Output = Format.TEXT,
) -> None:
    """Compute schematic ids offline, from options, a file or the inventory."""
    assert directory is not None
    if file or extension or kernel_arg:
        _one(_text(file, extension, kernel_arg), factory or FACTORY, output, register=register)
    else:
        _inventory(directory, factory, output, register=register)


def _text(file: Path | None, extensions: list[str] | None, arguments: list[str] | None) -> str:
    from talops.cli.talos.secrets import read_text
    from talops.machineconfig import yamltext
    from talops.machineconfig.schematic import canonical

    if file is None:
        customization = {
            "extraKernelArgs": arguments or [],
            "systemExtensions": {"officialExtensions": extensions or []},
        }
        return canonical({"customization": customization})
    if extensions or arguments:
        raise TalopsError("use --file, or --extension and --kernel-arg, but not both")
    return canonical(yamltext.load(read_text(file), where=str(file)), where=str(file))


def _one(text: str, factory: str, output: Format, *, register: bool) -> None:
    from talops.inventory.schematics import identify

    found = identify(text)
    if register:
        _register(factory, text, found)
    if output is Format.JSON:
        print_json({"version": 1, "id": found, "schematic": text, "registered": register})
    else:
        typer.echo(found)


def _inventory(directory: Path, factory: str | None, output: Format, *, register: bool) -> None:
    from talops.cli.opening import inventory_of
    from talops.inventory.schematics import identify, schematic_text

    cluster = inventory_of(directory)
    if register:
        known = {node.extensions for node in cluster.nodes if node.extensions is not None}
        for extensions in sorted(known):
            text = schematic_text(extensions)
            _register(factory or cluster.image_factory_url, text, identify(text))
    rows = [
        {
            "node": node.name,
            "id": node.image.schematic,
            "extensions": None if node.extensions is None else list(node.extensions),
        }
        for node in cluster.nodes
    ]
    if output is Format.JSON:
        print_json({"version": 1, "nodes": rows, "registered": register})
        return
    for row in rows:
        typer.echo(f"{row['node']}\t{row['id']}")


def _register(factory: str, text: str, expected: str) -> None:
    from talops.talos.image_factory import register_schematic

    given = asyncio.run(register_schematic(factory, text))
    if given != expected:
        raise TalopsError(
            f"the Image Factory returned id {given}, but talops computed {expected}",
            where=factory,
            hint="use the factory's id as schematic_id, and report this",
        )
