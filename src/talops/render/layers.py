"""The layers of an inventory, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.layer import FOLDER, Layer

if TYPE_CHECKING:
    from talops.inventory.model import Cluster

MODULE = f"{FOLDER}/modules/proxmox-talos-vm"


HYPERVISORS = "01-hypervisors"


def hypervisors(cluster: Cluster) -> Layer:
    return Layer(HYPERVISORS, owner=cluster.name)


def platform(cluster: Cluster) -> Layer:
    return Layer(f"02-platforms/{cluster.name}")


def layers(cluster: Cluster) -> tuple[Layer, ...]:
    """In the order they are applied; none on bare metal."""
    if cluster.proxmox is None:
        return ()
    first = (hypervisors(cluster),) if cluster.hypervisors else ()
    legacy = tuple(Layer(f"03-legacy/{vm.name}") for vm in cluster.legacy)
    return (*first, platform(cluster), *legacy)
