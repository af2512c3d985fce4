"""The layers of an inventory: directory, state name, order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.inventory.model import Cluster

ROOT = "infrastructure"
MODULE = f"{ROOT}/modules/proxmox-talos-vm"


@dataclass(frozen=True)
class Layer:
    """`name` is what `--layer` takes; `state` is unique within one inventory."""

    name: str
    kind: str  # hypervisors, platforms, legacy

    @property
    def directory(self) -> str:
        return f"{ROOT}/{self.name}"

    @property
    def state(self) -> str:
        return self.name.replace("/", "-")


HYPERVISORS = Layer("01-hypervisors", "hypervisors")


def platform(cluster: Cluster) -> Layer:
    return Layer(f"02-platforms/{cluster.name}", "platforms")


def layers(cluster: Cluster) -> tuple[Layer, ...]:
    """In the order they are applied; none on bare metal."""
    if cluster.proxmox is None:
        return ()
    first = (HYPERVISORS,) if cluster.hypervisors else ()
    legacy = tuple(Layer(f"03-legacy/{vm.name}", "legacy") for vm in cluster.legacy)
    return (*first, platform(cluster), *legacy)
