"""Checks that several calls share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

if TYPE_CHECKING:
    from talops.lab.talos.config.document import MachineConfig
    from talops.lab.talos.machine.node import Node


def require_control_plane(node: Node, name: str) -> MachineConfig:
    """`name` is the name of the API in Talos' error."""
    if node.config is None or not node.config.control_plane:
        raise GRPCError(Status.UNIMPLEMENTED, f"{name} is only available on control plane nodes")
    return node.config


def full_disk(node: Node, path: str) -> None:
    if node.faults.disk_full:
        raise GRPCError(Status.UNKNOWN, f"write {path}: no space left on device")
