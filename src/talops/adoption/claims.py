"""Which of the VMs and files on a Proxmox are this cluster's own, and under which address. Pure.

A VM is ours only if everything that talops gave it is still there: VMID, name, the cluster's tag
and the MAC. One that shares some of it and not the rest is named, and never touched.
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
    """One resource that exists and that its layer's state does not know."""

    layer: str
    address: str
    identity: str  # what `import` takes: NODE/VMID, NODE/STORAGE:CONTENT/FILE
    what: str


@dataclass(frozen=True)
class PlannedVm:
    """A VM of the plan and its address."""

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
    """What may be taken over, and in words what looks like ours and is not."""
    claims, doubts = [], []
    for wish in missing:
        own = [guest for guest in guests if not differences(wish.vm, guest)]
        if len(own) == 1:
            identity = f"{own[0].host}/{own[0].vm_id}"
            claims.append(Claim(wish.layer, wish.address, identity, f"VM {wish.vm.name}"))
        elif own:
            ids = ", ".join(str(guest.vm_id) for guest in own)
            doubts.append(f"{wish.vm.name}: VMs {ids} all fit")
        else:
            doubts += [
                f"{wish.vm.name}: VM {guest.vm_id} on {guest.host} {'; '.join(wrong)}"
                for guest in guests
                if _resembles(wish.vm, guest) and (wrong := differences(wish.vm, guest))
            ]
    return claims, doubts


def differences(vm: WantedVm, guest: Guest) -> list[str]:
    """Why this VM is not the planned one; [] means that it is."""
    wrong = []
    if vm.vm_id not in {None, guest.vm_id}:
        wrong.append(f"has another VMID than {vm.vm_id}")
    if guest.name != vm.name:
        wrong.append(f"is called {guest.name or 'nothing'}")
    if vm.cluster_tag and vm.cluster_tag not in guest.tags:
        wrong.append(f"lacks the tag {vm.cluster_tag}")
    if guest.macs is None:
        wrong.append("could not be read")
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
    """`there`: HOST/VOLUME of every file. Its name says all that a file is made of."""
    found = []
    for key, image in images.items():
        volume = f"{storage}:{image['content_type']}/{image['file_name']}"
        identity = f"{image['host']}/{volume}"
        if identity in there:
            name = f"image {image['file_name']}"
            found.append(Claim(layer, image_address(key), identity, name))
    return found
