"""talops support: a support bundle without secrets."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import print_json

if TYPE_CHECKING:
    from talops.redaction import Secret


def register(root: typer.Typer) -> None:
    root.command("support")(support)


def support(
    directory: Directory = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File to write.", show_default="named after the current time"),
    ] = None,
    runs: Annotated[
        int, typer.Option("--runs", help="Number of recent runs to include.", min=0)
    ] = 5,
    patterns_only: Annotated[
        bool,
        typer.Option("--patterns-only", help="Without keys: search for patterns of secrets only."),
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Pack recent runs, versions and the inventory into a file without secrets."""
    from talops.app.known_secrets import environment_secrets
    from talops.app.support import bundle, inventory_secrets
    from talops.files import PRIVATE, write_atomic
    from talops.pipeline.history import list_runs

    assert directory is not None
    root = directory.resolve()
    known = {**environment_secrets(os.environ), **inventory_secrets(root)}
    known |= {} if patterns_only else _known(root)
    now = datetime.now(UTC)
    proof = {"secrets_looked_for": len(known), "patterns_only": patterns_only}
    facts = {"made": now.isoformat(timespec="seconds"), **proof}
    past = list_runs(root / ".talops")[:runs]
    packed, count = asyncio.run(bundle(root, past, known, os.environ, facts))
    target = out or Path(f"talops-support-{now:%Y%m%d-%H%M%S}.tar.gz")
    write_atomic(target.absolute(), packed, mode=PRIVATE)
    if output is Format.JSON:
        print_json({"version": 1, "file": str(target), "files": count, **proof})
    else:
        typer.echo(str(target))
        typer.echo(f"{count} files; none of {len(known)} known secrets is in them", err=True)


def _known(root: Path) -> dict[str, Secret]:
    from talops.app.known_secrets import known_secrets
    from talops.cli.tools.progress import progress

    with progress() as emit:
        return asyncio.run(known_secrets(root, dict(os.environ), emit))
