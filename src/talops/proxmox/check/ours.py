"""Which of the existing VMs belong to the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.proxmox.facts import Unread

if TYPE_CHECKING:
    from talops.proxmox.facts import Facts, Guest
    from talops.proxmox.wanted import Wanted, WantedImage, WantedVm


def is_ours(guest: Guest, vm: WantedVm) -> bool:
    """Same name, the cluster's tag, the MAC, and the planned VMID if one is planned.

    A VM gets its name and its tags last, and starts after that. A VM that an interrupted run began
    to create, and that never ran, is identified by its VMID.
    """
    if guest.template or vm.vm_id not in {None, guest.vm_id}:
        return False
    if vm.begun and vm.vm_id == guest.vm_id and not guest.running:
        return guest.name in {vm.name, ""}
    return not differences(guest, vm)


def is_recorded(guest: Guest, wanted: Wanted) -> bool:
    """The state has a VM with its VMID, and name, tag or MAC show that it still is that VM."""
    known = wanted.recorded.get(guest.vm_id)
    if known is None or guest.template:
        return False
    tagged = wanted.cluster in guest.tags
    return tagged or guest.name == known.name or bool(known.macs & (guest.macs or frozenset()))


def differences(guest: Guest, vm: WantedVm) -> list[str]:
    """What a VM lacks to be the planned one."""
    wrong = []
    if guest.name != vm.name:
        wrong.append(f"is called {guest.name or 'nothing'}")
    if vm.cluster_tag and vm.cluster_tag not in guest.tags:
        wrong.append(f"does not carry the tag {vm.cluster_tag}")
    if guest.macs is None:
        wrong.append("has a configuration that cannot be read")
    elif vm.mac.upper() not in guest.macs:
        shown = ", ".join(sorted(guest.macs)) or "no MAC"
        wrong.append(f"has {shown} instead of {vm.mac}")
    return wrong


def ours(wanted: Wanted, facts: Facts) -> dict[str, Guest]:
    """Planned name → the existing VM for it."""
    seen = () if isinstance(facts.guests, Unread) else facts.guests
    pairs = ((vm, guest) for vm in wanted.vms for guest in seen if is_ours(guest, vm))
    return {vm.name: guest for vm, guest in pairs}


def foreign(wanted: Wanted, facts: Facts) -> list[Guest]:
    own = {guest.vm_id for guest in ours(wanted, facts).values()}
    seen = () if isinstance(facts.guests, Unread) else facts.guests
    return [guest for guest in seen if guest.vm_id not in own]


def to_create(wanted: Wanted, facts: Facts) -> list[WantedVm]:
    there = ours(wanted, facts)
    return [vm for vm in wanted.vms if vm.name not in there]


def images_to_fetch(wanted: Wanted, facts: Facts) -> list[WantedImage]:
    """An existing template no longer needs its image."""
    seen = () if isinstance(facts.guests, Unread) else facts.guests
    template = wanted.template and wanted.template.vm_id
    built = any(guest.vm_id == template and guest.template for guest in seen)
    return [image for image in wanted.images if not (built and image.for_template)]
