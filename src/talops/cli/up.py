"""talops up: create the cluster, or update it to match the inventory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import (
    AcceptFingerprint,
    AllowDestroy,
    AllowDisconnect,
    AllowReplace,
    AllowUnhealthyEtcd,
    Directory,
    DrainTimeout,
    DryRun,
    Format,
    MaxUnavailable,
    Now,
    Output,
    Reinstall,
    Timeout,
    Yes,
    allowing,
)
from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.run import Run
    from talops.site.site import Site


# Which stages
Only = Annotated[list[str] | None, typer.Option("--only", help="Run only this stage; repeatable.")]
From = Annotated[str | None, typer.Option("--from", metavar="STAGE", help="Start with this stage.")]
Until = Annotated[str | None, typer.Option("--until", help="Stop after this stage.")]
Skip = Annotated[list[str] | None, typer.Option("--skip", help="Skip this stage; repeatable.")]
GenerateOnly = Annotated[bool, typer.Option("--generate-only", help="Same as --only configure.")]
TerraformOnly = Annotated[bool, typer.Option("--terraform-only", help="Same as --until provision.")]
BootstrapOnly = Annotated[
    bool, typer.Option("--bootstrap-only", help="Same as --from apply-config.")
]
VerifyOnly = Annotated[bool, typer.Option("--verify-only", help="Same as --only verify.")]
# How
Nodes = Annotated[
    str,
    typer.Option("--nodes", metavar="REGEX", help="Only nodes whose names match this expression."),
]
MaxParallel = Annotated[
    int,
    typer.Option("--max-parallel", help="Maximum number of changes in parallel.", min=1, max=256),
]


def register(root: typer.Typer) -> None:
    root.command("up")(up)


def up(
    directory: Directory = None,
    only: Only = None,
    first: From = None,
    last: Until = None,
    skip: Skip = None,
    generate_only: GenerateOnly = False,
    terraform_only: TerraformOnly = False,
    bootstrap_only: BootstrapOnly = False,
    verify_only: VerifyOnly = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    nodes: Nodes = "",
    max_parallel: MaxParallel = 10,
    allow_replace: AllowReplace = None,
    allow_destroy: AllowDestroy = None,
    allow_disconnect: AllowDisconnect = None,
    allow_unhealthy_etcd: AllowUnhealthyEtcd = None,
    max_unavailable: MaxUnavailable = "",
    drain_timeout: DrainTimeout = None,
    timeout: Timeout = None,
    now: Now = False,
    accept_fingerprint: AcceptFingerprint = None,
    reinstall: Reinstall = None,
    output: Output = Format.TEXT,
) -> None:
    """Create or update the cluster to match the inventory; safe to repeat."""
    from talops.app import runs
    from talops.app.admission import admission
    from talops.app.rolling import roll_options
    from talops.app.timeouts import with_timeouts
    from talops.cli.accepting import run_accepting
    from talops.cli.opening import site_of
    from talops.pipeline.selection import Selection

    assert directory is not None
    if generate_only or verify_only:
        only = ["configure" if generate_only else "verify"]
    wanted = Selection(
        tuple(only or ()),
        "apply-config" if bootstrap_only else first,
        "provision" if terraform_only else last,
        tuple(skip or ()),
    )
    root, only_nodes = directory, regex_of(nodes)

    def build(accepted: Sequence[str]) -> tuple[Site, Run]:
        site = with_timeouts(site_of(root, only_nodes), timeout or ())
        return site, runs.up(
            site,
            runs.Manner(dry_run, yes, max_parallel),
            selection=wanted,
            policy=allowing(allow_replace, allow_destroy, allow_disconnect, allow_unhealthy_etcd),
            admission=admission(site.cluster, accepted, reinstall or ()),
            rolls=roll_options(
                site.cluster, max_unavailable, drain_timeout, allow_unhealthy_etcd or (), now=now
            ),
        )

    run_accepting(build, accept_fingerprint or (), output, asks=not (yes or dry_run))


def regex_of(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise TalopsError(f"--nodes is not a regular expression: {error}", where=text) from error
