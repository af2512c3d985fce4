"""`talops runs`: show earlier runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import console, print_json

app = typer.Typer(no_args_is_help=True, help="Show earlier runs.")
Run = Annotated[str, typer.Argument(help="Run id, a prefix of it, or 'last'.")]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="runs")


@app.command("list")
def list_(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """List the recorded runs, newest first."""
    from talops.pipeline.history import list_runs
    from talops.views.history import runs_table

    runs = list_runs(_home(directory))
    if output == Format.JSON:
        print_json([run.as_dict() for run in runs])
    elif runs:
        console().print(runs_table(runs))
    else:
        typer.echo("no runs yet; next: talops up", err=True)


@app.command()
def show(run: Run = "last", directory: Directory = None, output: Output = Format.TEXT) -> None:
    """Show one run: its stages, timings, tool versions and result."""
    from talops.pipeline.history import find_run
    from talops.views.history import run_lines

    past = find_run(_home(directory), run)
    if output == Format.JSON:
        print_json(past.as_dict())
    else:
        typer.echo("\n".join(run_lines(past)))


@app.command()
def log(
    run: Run = "last",
    stage: Annotated[str | None, typer.Option(help="Print only the log of this stage.")] = None,
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """Print the events of a run, or the full log of one of its stages."""
    from talops.pipeline.history import find_run, read_stage_log
    from talops.views.history import event_lines

    past = find_run(_home(directory), run)
    if stage:
        typer.echo(read_stage_log(past, stage), nl=False)
    elif output == Format.JSON:
        typer.echo((past.path / "events.jsonl").read_text(encoding="utf-8"), nl=False)
    else:
        for line in event_lines(past):
            typer.echo(line)


@app.command()
def diff(
    before: Run, after: Run = "last", directory: Directory = None, output: Output = Format.TEXT
) -> None:
    """Compare two runs: inventory, versions, stages, changes, artifacts."""
    from talops.pipeline.compare import compare
    from talops.pipeline.history import find_run
    from talops.views.history import comparison_lines

    home = _home(directory)
    found = compare(find_run(home, before), find_run(home, after))
    if output == Format.JSON:
        print_json(found.as_dict())
    else:
        typer.echo("\n".join(comparison_lines(found)))


def _home(directory: Path | None) -> Path:
    assert directory is not None  # the option's callback fills it in
    return directory / ".talops"
