"""`talops doctor`: what this machine has for talops, what is missing, what the network reaches."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from talops import __version__
from talops.cli.extras import EXTRAS
from talops.cli.options import Format, Output
from talops.cli.output import console, print_json
from talops.toolchain.catalog import PROVIDER, catalog
from talops.toolchain.install import Toolchain
from talops.toolchain.release import current_platform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.toolchain.catalog import Tool
    from talops.toolchain.locate import FoundTool

# Where tools, the provider and images come from; each has a way around it.
HOSTS = {
    "registry.opentofu.org": "the provider; otherwise TALOPS_PROVIDER_MIRROR or a build",
    "github.com": "releases of tools; otherwise a build",
    "factory.talos.dev": "images of Talos; otherwise image_factory_url",
}
SECONDS = 5.0
MARKS = {"good": "✓", "later": "·", "warning": "!", "failed": "✗"}
SPACE = 4 * 2**30


@dataclass(frozen=True)
class Row:
    """`level`: good, later (installed when it is needed), warning or failed."""

    part: str
    level: str
    what: str
    hint: str = ""


def register(root: typer.Typer) -> None:
    root.command("doctor")(doctor)


def doctor(
    network: Annotated[bool, typer.Option(help="Ask the hosts that talops downloads from.")] = True,
    output: Output = Format.TEXT,
) -> None:
    """Show what is installed, what is missing, and what would be downloaded."""
    rows = asyncio.run(examine(dict(os.environ), network=network))
    if output is Format.JSON:
        print_json({"version": 1, "rows": [asdict(row) for row in rows]})
    else:
        _print(rows)
    raise typer.Exit(int(any(row.level == "failed" for row in rows)))


async def examine(environment: Mapping[str, str], *, network: bool = True) -> list[Row]:
    toolchain = Toolchain(environment)
    tools = list(catalog().values())
    found = await asyncio.gather(*(toolchain.find(tool.name) for tool in tools))
    rows = [
        Row("talops", "good", f"{__version__} on Python {platform.python_version()}"),
        *map(extra, EXTRAS),
        git(environment),
        cache(toolchain.cache),
        *(needed(tool, has) for tool, has in zip(tools, found, strict=True)),
    ]
    return [*rows, *(await reachable() if network else [])]


def extra(name: str) -> Row:
    lacks = [module for module in EXTRAS[name] if importlib.util.find_spec(module) is None]
    if not lacks:
        return Row(f"extra {name}", "good", "installed")
    hint = f"pip install 'talops[{name}]'"
    return Row(f"extra {name}", "later", f"not installed: {', '.join(lacks)}", hint)


def git(environment: Mapping[str, str]) -> Row:
    path = shutil.which("git", path=environment.get("PATH", ""))
    if path:
        return Row("git", "good", path)
    return Row("git", "failed", "is not on PATH", "install Git")


def cache(place: Path) -> Row:
    """Of the tools: it must be writable, and builds need room."""
    base = next(each for each in (place, *place.parents) if each.exists())
    if not os.access(base, os.W_OK):
        hint = "set XDG_CACHE_HOME to a directory that you own"
        return Row("cache", "failed", f"{place} cannot be written", hint)
    free = shutil.disk_usage(base).free
    what = f"{place}, {free // 2**30} GiB free"
    if free < SPACE:
        return Row("cache", "warning", what, "builds of tools need 4 GiB")
    return Row("cache", "good", what)


def needed(tool: Tool, found: FoundTool | None) -> Row:
    if found:
        return Row(tool.name, "good", f"{found.version} from {found.origin}: {found.path}")
    released = tool.release is not None and current_platform() in tool.release.sha256
    way = "downloaded" if released or tool.name == PROVIDER else "built"
    hint = f"talops tools install {tool.name}"
    return Row(tool.name, "later", f"{tool.version} is {way} when it is needed", hint)


async def reachable() -> list[Row]:
    import httpx

    from talops.answersize import limits

    async with httpx.AsyncClient(timeout=SECONDS, event_hooks=limits()) as client:

        async def ask(host: str) -> Row:
            try:
                await client.head(f"https://{host}/")
            except (httpx.HTTPError, OSError) as error:
                what = f"does not answer: {str(error) or type(error).__name__}"
                return Row(host, "warning", what, f"needed for {HOSTS[host]}")
            return Row(host, "good", "answers")

        return list(await asyncio.gather(*map(ask, HOSTS)))


def _print(rows: list[Row]) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(MARKS[row.level], row.part, row.what)
        if row.hint:
            table.add_row("", "", f"next: {row.hint}")
    console().print(table)
