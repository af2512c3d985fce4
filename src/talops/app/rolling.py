"""How nodes are taken out of service in a run, from what the user typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.rolls.options import DEFAULT, RollOptions
from talops.rolls.order import Width

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Cluster


def roll_options(
    cluster: Cluster,
    max_unavailable: str,
    drain_timeout: float | None,
    allow_unhealthy_etcd: Iterable[str],
    *,
    now: bool = False,
) -> RollOptions:
    """What cluster.yaml says, or the defaults, where nothing was typed."""
    return RollOptions(
        Width.parse(max_unavailable) if max_unavailable else DEFAULT.max_unavailable,
        cluster.timeouts.drain if drain_timeout is None else drain_timeout,
        now=now,
        allow_unhealthy_etcd=frozenset(allow_unhealthy_etcd),
    )
