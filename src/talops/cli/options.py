"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from talops.tofu.policy import Policy


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


def _directory(ctx: typer.Context, value: Path | None) -> Path:
    """Every command with a directory refuses one that leads outside of itself."""
    from talops.app.opening import check_directory

    chosen: Path = value or ctx.find_root().obj or Path.cwd()
    if not ctx.resilient_parsing:
        check_directory(chosen)
    return chosen


Directory = Annotated[
    Path | None,
    typer.Option(
        "-C",
        "--directory",
        help="Directory of the inventory.",
        callback=_directory,
        show_default="current directory",
    ),
]

Output = Annotated[
    Format, typer.Option("-o", "--output", help="Output format.", case_sensitive=False)
]

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Show the plan and change nothing; exit 2 if it has changes."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

AllowReplace = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-replace", metavar="NAME", help="Allow this VM to be replaced; repeatable."
    ),
]
AllowDisconnect = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-disconnect",
        metavar="NAME",
        help="Allow this VM or host bridge to lose its network; repeatable.",
    ),
]
AllowUnhealthyEtcd = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-unhealthy-etcd",
        metavar="NAME",
        help="Stop this control plane even if etcd is not healthy; repeatable.",
    ),
]
AllowDestroy = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-destroy",
        metavar="NAME",
        help="Allow this VM or one of its disks to be destroyed; repeatable.",
    ),
]


AcceptFingerprint = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-fingerprint",
        metavar="NODE=KEY",
        help="Accept the machine with this key as this new node; repeatable.",
    ),
]
Reinstall = Annotated[
    list[str] | None,
    typer.Option(
        "--reinstall",
        metavar="NODE",
        help="Allow this node in maintenance mode to get its config again; repeatable.",
    ),
]


MaxUnavailable = Annotated[
    str,
    typer.Option(
        "--max-unavailable",
        metavar="N|N%",
        help="Workers out of service at the same time.",
        show_default="1",
    ),
]
DrainTimeout = Annotated[
    float | None,
    typer.Option(
        "--drain-timeout", metavar="SECONDS", help="Stop if a node is not drained by then.", min=0
    ),
]


Timeout = Annotated[
    list[str] | None,
    typer.Option(
        "--timeout",
        metavar="NAME=TIME",
        help="Wait limit instead of the one in cluster.yaml, like boot=10m; repeatable.",
    ),
]
Now = Annotated[
    bool, typer.Option("--now", help="Disrupt nodes outside of maintenance windows, too.")
]


def allowing(
    replace: list[str] | None,
    destroy: list[str] | None,
    disconnect: list[str] | None,
    unhealthy_etcd: list[str] | None,
    *,
    everything: bool = False,
) -> Policy:
    """The policy of these options."""
    from talops.tofu.policy import Policy

    return Policy(
        allow_replace=frozenset(replace or ()),
        allow_destroy=frozenset(destroy or ()),
        allow_disconnect=frozenset(disconnect or ()),
        allow_unhealthy_etcd=frozenset(unhealthy_etcd or ()),
        everything=everything,
    )
