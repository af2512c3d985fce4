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
    from talops.app.drift.repair import repairable
    from talops.cli.site import site_of

    assert directory is not None
    site = site_of(directory)
    wanted = [each.value for each in layer or list(Area)]
    results = _look(site, wanted)
    if fix and repairable(results):
        _repair(site, results)
        results = _look(site, wanted)
    _show(results, output)
    if any(result.unread for result in results):
        raise typer.Exit(1)
    if any(result.differences for result in results):
        raise typer.Exit(2)


def _look(site: Site, wanted: Sequence[str]) -> list[AreaDrift]:
    from talops.app.drift.look import look
    from talops.app.drift.model import masked
    from talops.pipeline.lock import Holder, local_lock
    from talops.redaction import Redactor
    from talops.site.secrets_file import SecretsFile

    redact = Redactor(site.credentials.values())
    secrets = SecretsFile(site, redact.learn)
    # A plan during a running `up` would compare with resources that are being changed.
    holder = Holder.myself("drift", "drift", site.root)
    with local_lock(site.root / ".talops" / "lock", holder):
        found = asyncio.run(look(site, secrets, lambda _: None, redact.learn, wanted))
    return masked(found, redact)


def _repair(site: Site, results: Sequence[AreaDrift]) -> None:
    from talops.app.drift.repair import repairs
    from talops.cli.confirming import agreed
    from talops.cli.running import Job, record_job
    from talops.pipeline.selection import ALL

    result = record_job(
        Job(
            command="drift --fix",
            site=site,
            build=lambda recorder: repairs(site, recorder, results),
            selection=ALL,
            confirm=agreed(yes=True, hint="talops drift --fix"),
            next_commands=lambda _: [],
        )
    )
    if result.error:
        raise result.error


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
