"""One node as an inventory or a state describes it, and what a difference costs it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.inventory.model import Node


class Cost(IntEnum):
    """What a node pays for a change; a higher value is more disruptive."""

    NOTHING = 0
    ONLINE = 1
    RESTART = 2
    # It leaves the cluster, its disks are destroyed, and it joins as a new node.
    REPLACE = 3


@dataclass(frozen=True)
class Machine:
    """`identity`: no two nodes can have the same address, MAC or VMID at the same time."""

    name: str
    controller: bool
    address: str = ""
    mac: str = ""
    vm_id: int | None = None
    host: str = ""
    cores: int = 0
    memory: int = 0
    disk: int = 0
    gpus: tuple[str, ...] = ()

    @property
    def identity(self) -> frozenset[tuple[str, str]]:
        found = {"address": self.address, "mac": self.mac.upper(), "vm_id": str(self.vm_id or "")}
        return frozenset((key, value) for key, value in found.items() if value)


@dataclass(frozen=True)
class Difference:
    """One value of a node, before and after."""

    key: str
    before: object
    after: object
    cost: Cost

    def __str__(self) -> str:
        return f"{self.key}: {_text(self.before)} → {_text(self.after)}"


def machine_of(node: Node) -> Machine:
    """As the inventory describes it."""
    vm = node.vm
    return Machine(
        node.name,
        node.controller,
        str(node.address),
        node.mac,
        vm.vm_id if vm else None,
        vm.host if vm else "",
        vm.cores * vm.sockets if vm else 0,
        vm.memory if vm else 0,
        vm.disk_size if vm else 0,
        node.gpus,
    )


def differences(before: Machine, after: Machine) -> tuple[Difference, ...]:
    """What changes for a node that keeps its name."""
    found = []
    for key in ("controller", "address", "mac", "vm_id", "host", "cores", "memory", "disk", "gpus"):
        old, new = getattr(before, key), getattr(after, key)
        if _same(key, old, new):
            continue
        found.append(Difference(key, old, new, _cost(key, before, after)))
    return tuple(found)


def _same(key: str, old: object, new: object) -> bool:
    if key == "mac":
        return str(old).upper() == str(new).upper()
    # Proxmox chose this VMID: the inventory leaves it open.
    return old == new or (key == "vm_id" and (old is None or new is None))


def _cost(key: str, before: Machine, after: Machine) -> Cost:
    if key in {"controller", "mac", "vm_id"}:
        return Cost.REPLACE
    if key == "address":
        # etcd members and certificates of a control plane are bound to its address.
        return Cost.REPLACE if after.controller else Cost.RESTART
    if key == "disk":
        # A volume cannot shrink, and Talos grows its partition when it boots.
        return Cost.REPLACE if after.disk < before.disk else Cost.RESTART
    if key == "host":
        # A device of a host cannot move with the VM.
        return Cost.RESTART if before.gpus or after.gpus else Cost.ONLINE
    return Cost.RESTART


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "nothing"
    if isinstance(value, bool):
        return "control plane" if value else "worker"
    return "nothing" if value in {None, ""} else str(value)
