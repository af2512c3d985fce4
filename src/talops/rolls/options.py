"""How a roll behaves: what the user chose on the command line and in cluster.yaml."""

from __future__ import annotations

from dataclasses import dataclass

from talops.rolls.order import ONE, Width


@dataclass(frozen=True)
class RollOptions:
    """`now`: also outside of maintenance windows. Times are in seconds."""

    max_unavailable: Width = ONE
    drain_timeout: float = 300.0
    detach_timeout: float = 120.0
    now: bool = False
    # Control planes that may stop although etcd is not healthy.
    allow_unhealthy_etcd: frozenset[str] = frozenset()


DEFAULT = RollOptions()
