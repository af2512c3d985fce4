"""Which graphics cards of the hosts a worker can have. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.proxmox.facts import Unread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.app.proposing.look import Stock
    from talops.proxmox.facts import Device, PciMapping

DISPLAY, BRIDGE = "03", "0604"
NVIDIA = "10de"
# The display of the server's management, and of virtual machines.
CONSOLES = frozenset({"1a03", "102b", "1234", "1b36", "1af4"})


@dataclass
class Graphics:
    """Free cards by host; each is offered to one worker."""

    free: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def offer(self, host: str) -> tuple[str, ...]:
        """Lines for a worker on this host; empty if it has no card left."""
        left = self.free.get(host, [])
        return left.pop(0) if left else ()


def graphics(stock: Stock) -> Graphics:
    if isinstance(stock.devices, Unread):
        return Graphics(notes=(f"GPUs could not be read: {stock.devices.reason}",))
    known = () if isinstance(stock.mappings, Unread) else stock.mappings
    found, notes = Graphics(), []
    cards = [d for d in stock.devices if d.class_.startswith(DISPLAY)]
    for number, card in enumerate(c for c in cards if c.id.split(":")[0] not in CONSOLES):
        named = f"{card.host} has GPU {card.path} {card.name}".rstrip()
        if wrong := next(_reasons(stock, known, stock.devices, card), None):
            notes.append(f"{named}: {wrong}")
            continue
        notes.append(f"{named}, alone in IOMMU group {card.group}, not used by a guest")
        found.free.setdefault(card.host, []).append(tuple(_lines(known, card, f"gpu{number}")))
    if isinstance(stock.mappings, Unread):
        notes.append(f"PCI mappings could not be read: {stock.mappings.reason}")
    found.notes = tuple(notes)
    return found


def _reasons(
    stock: Stock, known: Sequence[PciMapping], devices: Sequence[Device], card: Device
) -> Iterator[str]:
    """Why a VM cannot get it."""
    if card.group is None:
        yield "not in an IOMMU group: enable VT-d or AMD-Vi in the firmware"
    beside = [
        d.path
        for d in devices
        if d.host == card.host
        and d.group == card.group
        and _slot(d.path) != _slot(card.path)
        and not d.class_.startswith(BRIDGE)
    ]
    if beside:
        yield f"shares IOMMU group {card.group} with {', '.join(beside)}"
    names = {mapping.name for mapping in _mappings_of(known, card)}
    for guest in stock.guests:
        paths = {_slot(device) for device in guest.devices}
        if guest.host == card.host and (names & {*guest.devices} or _slot(card.path) in paths):
            yield f"used by VM {guest.vm_id} ({guest.name})"


def _mappings_of(known: Sequence[PciMapping], card: Device) -> list[PciMapping]:
    return [
        mapping
        for mapping in known
        for device in mapping.devices
        if device.node == card.host and _slot(device.first_path) == _slot(card.path)
    ]


def _lines(known: Sequence[PciMapping], card: Device, name: str) -> Iterator[str]:
    """What nodes.yaml gets, commented out."""
    mapped = _mappings_of(known, card)
    if mapped:
        yield f"gpus: [{mapped[0].name}]   # the mapping of {card.path} {card.name}".rstrip()
    else:
        yield f"gpus: [{name}]   # first: talops host prepare --gpu {name}={card.path}"
    if card.id.startswith(NVIDIA):
        yield (
            "extensions: [siderolabs/nvidia-open-gpu-kernel-modules-production, "
            "siderolabs/nvidia-container-toolkit-production]"
        )
        yield "kernel_modules: [nvidia, nvidia_uvm, nvidia_drm, nvidia_modeset]"


def _slot(path: str) -> str:
    return path.split(".", maxsplit=1)[0]
