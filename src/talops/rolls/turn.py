"""What a roll does with one node, and in which steps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.inventory.model import Node
    from talops.rolls.marks import Mark


class Step(StrEnum):
    """In this order, worded as views show them before the node's name."""

    GATES = "checking gates for"
    PREPARE = "preparing"
    ETCD = "checking etcd for"
    CORDON = "cordoning"
    DRAIN = "draining"
    DETACH = "detaching volumes of"
    FORFEIT = "moving etcd leadership from"
    ACT = "restarting"
    REMOVE = "removing"
    RETURN = "waiting for"
    UNCORDON = "uncordoning"
    AFTER = "checking gates after"


@dataclass(frozen=True)
class Turn:
    """One node's turn in a roll.

    `act` takes the node down: it reboots it, restarts its VM, or removes it. Without `act`, a turn
    only waits for a node that an interrupted roll left behind. `prepare` runs while the node still
    serves and returns the mark with what it did; `arrived` says what is still missing after the
    return, or raises if that cannot come any more.
    """

    node: Node
    # Shown, and kept on the Node: "Talos v1.14.1".
    reason: str
    act: Callable[[], Awaitable[None]] | None = None
    prepare: Callable[[Mark], Awaitable[Mark]] | None = None
    arrived: Callable[[], Awaitable[str]] | None = None
    # A new boot id proves that `act` took effect.
    restarts: bool = True
    # Talos reboots the node after `act`, also if another run has to do it.
    reboots: bool = False
    # The node does not come back: `act` removes it from etcd and Kubernetes.
    leaves: bool = False
    # It leaves for now: a later stage creates it again, and its pods may have to wait for that.
    recreated: bool = False
