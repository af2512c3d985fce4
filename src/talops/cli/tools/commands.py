"""`talops tools`: the external tools that talops runs."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.options import Format, Output
from talops.cli.output import console, print_json

if TYPE_CHECKING:
    from talops.toolchain.locate import FoundTool

app = typer.Typer(help="Manage the external tools that talops runs.", no_args_is_help=True)

# Enough for infra, secrets and the lab; the others are installed when they are needed.
USUAL = ("tofu", "provider", "sops", "age", "etcd", "kube-apiserver")


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="tools")


@app.command("install")
def install(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Names of tools (default: the common set)."),
    ] = None,
    output: Output = Format.TEXT,
) -> None:
    """Install tools: from PATH, the cache, a release, or built from source.

    Without names: tofu, provider, sops, age, etcd, kube-apiserver. A compatible terraform
    on PATH replaces tofu.
    """
    rows = asyncio.run(_install(names))
    if output is Format.JSON:
        print_json(rows)
    else:
        _table(rows)


@app.command("list")
def list_tools(output: Output = Format.TEXT) -> None:
    """List the tools, their pinned versions and the versions in use."""
    rows = asyncio.run(_list())
    if output is Format.JSON:
        print_json(rows)
    else:
        _table(rows)


async def _install(names: list[str] | None) -> list[dict[str, Any]]:
    from talops.cli.tools.progress import progress
    from talops.toolchain.engine import find_engine
    from talops.toolchain.install import Toolchain

    with progress() as emit:
        toolchain = Toolchain(os.environ, emit=emit)
        wanted = list(names or USUAL)
        engine = None if names else await find_engine(toolchain)
        if engine:
            wanted.remove("tofu")
        found = await toolchain.ensure_all(wanted)
    return [_row(tool.name, tool) for tool in ([engine] if engine else []) + found]


async def _list() -> list[dict[str, Any]]:
    from talops.toolchain.catalog import catalog
    from talops.toolchain.engine import find_engine
    from talops.toolchain.install import Toolchain

    toolchain = Toolchain(os.environ)
    others = [name for name in catalog() if name != "tofu"]
    found = await asyncio.gather(find_engine(toolchain), *map(toolchain.find, others))
    return [_row(name, tool) for name, tool in zip(["tofu", *others], found, strict=True)]


def _row(name: str, found: FoundTool | None) -> dict[str, Any]:
    from talops.toolchain.catalog import catalog

    pinned = catalog()[name].version if name in catalog() else None
    return {
        "name": name,
        "pinned": pinned,
        "program": _program(found) if found else None,
        "version": found.version if found else None,
        "origin": found.origin if found else None,
        "path": str(found.path) if found else None,
    }


def _program(found: FoundTool) -> str:
    from talops.toolchain.catalog import PROVIDER
    from talops.toolchain.mirror import NAMESPACE

    return NAMESPACE if found.name == PROVIDER else found.path.name


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("tool", "pinned", "in use", "from", "path"):
        table.add_column(column)
    for row in rows:
        used = f"{row['program']} {row['version']}" if row["path"] else "missing"
        table.add_row(row["name"], row["pinned"], used, row["origin"], row["path"])
    console().print(table)
