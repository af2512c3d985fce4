"""Which VMs and files on Proxmox belong to this cluster, and their addresses in the state. Pure.

A VM belongs to the cluster only if VMID, name, the cluster's tag and MAC all match. A VM that
matches only partly is reported and never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.render.layers import platform

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from talops.inventory.model import Cluster
    from talops.proxmox.facts import Guest
    from talops.proxmox.wanted import Wanted, WantedVm


@dataclass(frozen=True)
class Claim:
    """A resource that exists but is missing from the state of its layer."""

    layer: str
    address: str
    identity: str  # The import ID: NODE/VMID or NODE/STORAGE:CONTENT/FILE
    what: str


@dataclass(frozen=True)
class PlannedVm:
    """A planned VM and its address."""

    layer: str
    address: str
    vm: WantedVm


def wishes(cluster: Cluster, wanted: Wanted) -> list[PlannedVm]:
    """Every VM of every layer."""
    nodes, found = set(cluster.node_names), []
    for vm in wanted.vms:
        if vm.name in nodes:
            address = f'module.node["{vm.name}"].proxmox_virtual_environment_vm.this'
            found.append(PlannedVm(platform(cluster).name, address, vm))
        else:
            found.append(
                PlannedVm(f"03-legacy/{vm.name}", "proxmox_virtual_environment_vm.this", vm)
            )
    return found


def claim_vms(
    missing: Iterable[PlannedVm], guests: Sequence[Guest]
) -> tuple[list[Claim], list[str]]:
    """The VMs to adopt, and a description of each VM that matches only partly."""
    claims, doubts = [], []
    for wish in missing:
        own = [guest for guest in guests if not differences(wish.vm, guest)]
        if len(own) == 1:
            identity = f"{own[0].host}/{own[0].vm_id}"
            claims.append(Claim(wish.layer, wish.address, identity, f"VM {wish.vm.name}"))
        elif own:
            ids = ", ".join(str(guest.vm_id) for guest in own)
            doubts.append(f"{wish.vm.name}: more than one VM matches ({ids})")
        else:
            doubts += [
                f"{wish.vm.name}: VM {guest.vm_id} on {guest.host} {'; '.join(wrong)}"
                for guest in guests
                if _resembles(wish.vm, guest) and (wrong := differences(wish.vm, guest))
            ]
    return claims, doubts


def differences(vm: WantedVm, guest: Guest) -> list[str]:
    """Why this VM is not the planned one; empty if it is."""
    wrong = []
    if vm.vm_id not in {None, guest.vm_id}:
        wrong.append(f"does not have VMID {vm.vm_id}")
    if guest.name != vm.name:
        wrong.append(f"has the name {guest.name or 'nothing'}")
    if vm.cluster_tag and vm.cluster_tag not in guest.tags:
        wrong.append(f"does not have the tag {vm.cluster_tag}")
    if guest.macs is None:
        wrong.append("has a configuration that could not be read")
    elif vm.mac.upper() not in guest.macs:
        wrong.append(f"has MAC {', '.join(sorted(guest.macs)) or 'none'} instead of {vm.mac}")
    if guest.template:
        wrong.append("is a template")
    return wrong


def _resembles(vm: WantedVm, guest: Guest) -> bool:
    same_id = vm.vm_id is not None and vm.vm_id == guest.vm_id
    return same_id or guest.name == vm.name or vm.mac.upper() in (guest.macs or ())


def image_address(key: str) -> str:
    return f'proxmox_download_file.image["{key}"]'


def claim_images(
    layer: str, images: Mapping[str, Mapping[str, str]], storage: str, there: Collection[str]
) -> list[Claim]:
    """`there`: HOST/VOLUME of every file. The file name identifies the content."""
    found = []
    for key, image in images.items():
        volume = f"{storage}:{image['content_type']}/{image['file_name']}"
        identity = f"{image['host']}/{volume}"
        if identity in there:
            name = f"image {image['file_name']}"
            found.append(Claim(layer, image_address(key), identity, name))
    return found
