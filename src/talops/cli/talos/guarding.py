"""etcd is asked before a `talops talos` command stops a control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from talops.app import node_guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.cli.talos.session import Session
    from talops.talos.client import Talos

AllowUnhealthyEtcd = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-unhealthy-etcd",
        metavar="NODE",
        help="Stop this control plane even if etcd is not healthy; repeatable.",
    ),
]


async def require_etcd(
    session: Session,
    node: Talos,
    allowed: Sequence[str] | None,
    *,
    for_good: bool = False,
    leaves: bool = False,
) -> None:
    """A node in maintenance mode is not a member."""
    if not session.insecure:
        await node_guard.require_etcd(node, allowed or (), for_good=for_good, leaves=leaves)
