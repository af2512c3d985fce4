"""talops drift: compare the real cluster with the inventory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_error, print_json

if TYPE_CHECKING:
    from talops.app.drift.model import AreaDrift, Difference
    from talops.site.site import Site


class Area(StrEnum):
    FILES = "files"
    PROXMOX = "proxmox"
    STORAGE = "storage"
    TALOS = "talos"
    KUBERNETES = "kubernetes"


def register(root: typer.Typer) -> None:
    root.command("drift")(drift)


def drift(
    directory: Directory = None,
    layer: Annotated[
        list[Area] | None, typer.Option("--layer", help="Only this layer; repeatable.")
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Apply non-disruptive fixes, then check again.")
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Compare the real cluster with the inventory; exit 2 on differences."""
    from talops.cli.opening import site_of

    assert directory is not None
    wanted = [each.value for each in layer or list(Area)]
    results = asyncio.run(_looked(site_of(directory), wanted, fix=fix))
    _show(results, output)
    if any(result.unread for result in results):
        raise typer.Exit(1)
    if any(result.differences for result in results):
        raise typer.Exit(2)


async def _looked(site: Site, wanted: Sequence[str], *, fix: bool) -> list[AreaDrift]:
    from talops.app.drift.look import look
    from talops.app.drift.repairs import repairs
    from talops.app.runs import repair
    from talops.cli.running import in_terminal

    results = await look(site, wanted)
    if not fix or not (safe := repairs(results)):
        return results
    result = await in_terminal(site, repair(site, safe))
    if result.error:
        raise result.error
    return await look(site, wanted)


def _show(results: Sequence[AreaDrift], output: Format) -> None:
    count = sum(len(result.differences) for result in results)
    if output is Format.JSON:
        whole = all(not result.unread for result in results)
        layers = [result.as_dict() for result in results]
        print_json({"version": 1, "differences": count, "complete": whole, "layers": layers})
        return
    for result in results:
        for difference in result.differences:
            typer.echo("\n".join(_lines(difference)))
        for text in result.notes:
            note(f"{result.layer}: {text}")
        for error in result.unread:
            print_error(error)
    unread = [result.layer for result in results if result.unread]
    looked_at = ", ".join(result.layer for result in results)
    verdict = "1 difference" if count == 1 else f"{count} differences"
    nothing = "no differences found" if unread else "no differences"
    typer.echo(f"{verdict if count else nothing} ({looked_at})")
    if unread:
        note(f"some layers could not be read: {', '.join(unread)}")


def _lines(found: Difference) -> list[str]:
    mark = "~" if found.safe else "!"
    return [
        f"{mark} {found.layer}: {found.target}: {found.attribute}",
        f"    is:     {found.actual}",
        f"    wanted: {found.wanted}",
        f"    repair ({found.impact}): {found.command}",
    ]
