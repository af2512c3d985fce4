"""How nodes are taken out of service in a run, from what the user typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.rolls.options import DEFAULT, RollOptions
from talops.rolls.order import Width

if TYPE_CHECKING:
    from collections.abc import Iterable


def roll_options(
    max_unavailable: str, drain_timeout: float | None, allow_unhealthy_etcd: Iterable[str]
) -> RollOptions:
    """Defaults where nothing was typed."""
    return RollOptions(
        Width.parse(max_unavailable) if max_unavailable else DEFAULT.max_unavailable,
        DEFAULT.drain_timeout if drain_timeout is None else drain_timeout,
        allow_unhealthy_etcd=frozenset(allow_unhealthy_etcd),
    )
