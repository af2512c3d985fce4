"""talops up: from two files to a verified cluster, again and again."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path

    from talops.pipeline.planning import Plan
    from talops.pipeline.result import RunResult
    from talops.pipeline.selection import Selection
    from talops.stages.site import Site
    from talops.tofu.policy import Policy
    from talops.views.choose import View

Names = Annotated[list[str] | None, typer.Option(help="Name of a VM; repeatable.")]


def register(root: typer.Typer) -> None:
    root.command("up")(up)


def up(
    directory: Directory = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Run this stage alone; repeatable.")
    ] = None,
    first: Annotated[str | None, typer.Option("--from", help="Start with this stage.")] = None,
    last: Annotated[str | None, typer.Option("--until", help="Stop after this stage.")] = None,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", help="Leave this stage out; repeatable.")
    ] = None,
    generate_only: Annotated[
        bool, typer.Option("--generate-only", help="Same as --only configure.")
    ] = False,
    terraform_only: Annotated[
        bool, typer.Option("--terraform-only", help="Same as --until provision.")
    ] = False,
    bootstrap_only: Annotated[
        bool, typer.Option("--bootstrap-only", help="Same as --from apply-config.")
    ] = False,
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Same as --only verify.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan everything, change nothing; exit 2 if it would.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    nodes: Annotated[
        str, typer.Option("--nodes", help="Only nodes whose names match this expression.")
    ] = "",
    max_parallel: Annotated[
        int, typer.Option("--max-parallel", help="Changes side by side.", min=1, max=256)
    ] = 10,
    allow_replace: Names = None,
    allow_destroy: Names = None,
    output: Output = Format.TEXT,
) -> None:
    """Bring the cluster up, or back to what the inventory says; stop it and run it again freely."""
    from talops.pipeline.selection import Selection
    from talops.tofu.policy import Policy

    assert directory is not None
    if generate_only or verify_only:
        only = ["configure" if generate_only else "verify"]
    wanted = Selection(
        tuple(only or ()),
        "apply-config" if bootstrap_only else first,
        "provision" if terraform_only else last,
        tuple(skip or ()),
    )
    policy = Policy(frozenset(allow_replace or ()), frozenset(allow_destroy or ()))
    result = _run(directory, wanted, policy, nodes, max_parallel, output, dry_run=dry_run, yes=yes)
    if result.error:
        raise result.error
    raise typer.Exit(result.exit_code)


def _run(
    directory: Path,
    selection: Selection,
    policy: Policy,
    nodes: str,
    max_parallel: int,
    output: Format,
    *,
    dry_run: bool,
    yes: bool,
) -> RunResult:
    from talops.cli.site import site_of
    from talops.views.choose import open_view

    site = site_of(directory, _pattern(nodes))
    with open_view(json=output is Format.JSON, out=sys.stdout, err=sys.stderr) as view:
        return asyncio.run(
            _recorded(site, selection, policy, max_parallel, view, dry_run=dry_run, yes=yes)
        )


async def _recorded(
    site: Site,
    selection: Selection,
    policy: Policy,
    max_parallel: int,
    view: View,
    *,
    dry_run: bool,
    yes: bool,
) -> RunResult:
    from talops import workflows
    from talops.pipeline.interrupt import Interruption
    from talops.pipeline.runner import Options
    from talops.pipeline.session import RunRequest, run_recorded

    async def confirm(plan: Plan) -> bool:
        return yes or await asyncio.to_thread(_ask, plan, view)

    request = RunRequest(
        command="up",
        cluster=site.cluster.name,
        root=site.root,
        inventory=[site.root / "cluster.yaml", site.root / "nodes.yaml"],
        options=Options(selection, dry_run, max_parallel, confirm),
        next_commands=lambda result: _next(site, result),
    )
    interruption = Interruption()
    with interruption.on_signals():
        return await run_recorded(
            request,
            lambda recorder: workflows.up(site, recorder, policy),
            view=view,
            interruption=interruption,
        )


def _ask(plan: Plan, view: View) -> bool:
    if not sys.stdin.isatty():
        raise TalopsError("nobody is here to agree to the plan", hint="talops up --yes")
    with view.paused():
        return bool(typer.confirm(f"{plan.changes} changes. Go on?", err=True))


def _next(site: Site, result: RunResult) -> list[str]:
    if result.exit_code:
        return ["talops up", "talops runs log"]
    return [f"kubectl --kubeconfig {site.kubeconfig} get nodes", "talops talos health"]


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise TalopsError(f"--nodes is no regular expression: {error}", where=text) from error
