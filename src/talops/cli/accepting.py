"""Ask whether an unknown machine is the node, then continue with the accepted key."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, NoReturn

import typer

from talops.cli.options import Format
from talops.cli.running import in_terminal
from talops.cli.terminal import yes_or_no

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from talops.pipeline.result import RunResult
    from talops.pipeline.run import Run
    from talops.site.site import Site


def run_accepting(
    build: Callable[[Sequence[str]], tuple[Site, Run]],
    accepted: Sequence[str],
    output: Format,
    *,
    asks: bool,
) -> NoReturn:
    """Run; while unknown machines answer for nodes, ask for them and run again. `build` opens the
    site for each run.
    """
    given = list(accepted)
    while True:
        site, run = build(given)
        result = asyncio.run(in_terminal(site, run, output))
        more = asyncio.run(_ask(result, site.root)) if asks and _can_ask(output) else []
        if not more:
            raise typer.Exit(result.exit_code)
        given += more


def _can_ask(output: Format) -> bool:
    return output is Format.TEXT and sys.stdin.isatty() and sys.stderr.isatty()


async def _ask(result: RunResult, root: Path) -> list[str]:
    """NODE=KEY of each machine; none if the user does not accept all of them."""
    from talops.app.admission import acceptable, keep_uuid

    found = acceptable(result.error)
    for each in found:
        typer.echo(f"{each.node} ({each.address}) shows the key {each.fingerprint}.", err=True)
        if not await yes_or_no(f"Is this the key on the console of {each.node}?"):
            return []
        if each.uuid and await yes_or_no(f"Write its uuid {each.uuid} to nodes.yaml?"):
            keep_uuid(root, each.node, each.uuid)
    return [f"{each.node}={each.fingerprint}" for each in found]
