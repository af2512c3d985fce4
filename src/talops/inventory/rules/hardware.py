"""Memory, disks, firmware, TPM, GPUs, guest agent: the requirements of Talos."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from talops.inventory import support
from talops.inventory.fields import BDF
from talops.inventory.resolve import extensions, on_proxmox, vm_size
from talops.inventory.rules import rule
from talops.inventory.schematics import AGENT_ONLY, EMPTY, QEMU_AGENT
from talops.inventory.sections import VmAdvanced
from talops.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.files import NodeFile
    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation
    from talops.problems import Position


def _advanced(inv: Inventory) -> VmAdvanced:
    return inv.cluster.proxmox_vm_advanced or VmAdvanced()


def _size_place(inv: Inventory, index: int, node: NodeFile, key: str) -> Position:
    """The position of the effective value: node, role or global."""
    if ("nodes", index, f"vm_{key}") in inv.at.nodes.keys:
        return inv.at.node_value(index, f"vm_{key}")
    role = "controller" if node.controller else "worker"
    for section in (f"proxmox_vm_{role}_defaults", "proxmox_vm_defaults"):
        if (section, key) in inv.at.cluster.keys:
            return inv.at.cluster_value(section, key)
    return inv.at.node_value(index)


@rule("too-small")
def large_enough(inv: Inventory) -> Iterator[Violation]:
    if not on_proxmox(inv.cluster):
        return
    for index, node in enumerate(inv.nodes):
        size = vm_size(inv.cluster, node)
        role = "controlplane" if node.controller else "worker"
        least = support.MIN_MEMORY_MIB[role]
        if size.memory and size.memory < least:
            yield (
                _size_place(inv, index, node, "memory"),
                f"{size.memory} MiB of memory is too small for {node.name}, a {role}",
                f"use {least} MiB or more",
            )
        if size.disk_size and size.disk_size < support.MIN_DISK_GIB:
            yield (
                _size_place(inv, index, node, "disk_size"),
                f"a disk of {size.disk_size} GiB is too small for Talos",
                f"use {support.MIN_DISK_GIB} GiB or more for {node.name}",
            )


@rule("secureboot-needs-uefi")
def secureboot_uefi(inv: Inventory) -> Iterator[Violation]:
    if not on_proxmox(inv.cluster) or _advanced(inv).bios == "ovmf":
        return
    for index, node in enumerate(inv.nodes):
        if node.secureboot:
            yield (
                inv.at.node_value(index, "secureboot"),
                "SecureBoot requires UEFI, but proxmox_vm_advanced.bios is seabios",
                "set bios: ovmf",
            )


@rule("secureboot-template")
def secureboot_template(inv: Inventory) -> Iterator[Violation]:
    """A template contains one image, so it cannot be used for both."""
    kinds = {bool(node.secureboot) for node in inv.nodes}
    if inv.cluster.boot == "template" and len(kinds) > 1:
        index = next(i for i, node in enumerate(inv.nodes) if node.secureboot)
        yield (
            inv.at.node_value(index, "secureboot"),
            "one template cannot be used for nodes with and without SecureBoot",
            "use boot: iso, or the same secureboot on every node",
        )


@rule("encryption-needs-tpm")
def encryption_tpm(inv: Inventory) -> Iterator[Violation]:
    if not on_proxmox(inv.cluster):
        return
    advanced = _advanced(inv)
    capable = advanced.bios == "ovmf" and advanced.machine.startswith(("q35", "pc-q35"))
    for index, node in enumerate(inv.nodes):
        if node.encrypt_disk and not capable:
            yield (
                inv.at.node_value(index, "encrypt_disk"),
                (
                    "disk encryption stores its key in a TPM, but this VM cannot have one "
                    f"(bios {advanced.bios}, machine {advanced.machine})"
                ),
                "set proxmox_vm_advanced: bios: ovmf and machine: q35",
            )


@rule("gpu-twice")
def gpus_once(inv: Inventory) -> Iterator[Violation]:
    places: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for index, node in enumerate(inv.nodes):
        host = node.host or inv.cluster.proxmox_node or node.name or ""
        for slot, gpu in enumerate(node.gpus or []):
            device = gpu.partition(".")[0] if BDF.fullmatch(gpu) else gpu
            places[host, device].append((index, slot))
    for (host, _), uses in places.items():
        for index, slot in uses[1:]:
            first = inv.at.node_value(uses[0][0], "gpus", uses[0][1])
            gpu = (inv.nodes[index].gpus or [])[slot]
            yield (
                inv.at.node_value(index, "gpus", slot),
                f"GPU {gpu} on host {host} is already assigned in line {first.line}",
                "a device can be passed to only one VM",
            )


@rule("gpu-raw-address", Severity.WARNING)
def gpu_by_mapping(inv: Inventory) -> Iterator[Violation]:
    if not on_proxmox(inv.cluster):
        return
    for index, node in enumerate(inv.nodes):
        for slot, gpu in enumerate(node.gpus or []):
            if BDF.fullmatch(gpu):
                yield (
                    inv.at.node_value(index, "gpus", slot),
                    f"only root@pam with a password can attach {gpu} by its address",
                    "define a PCI mapping (hypervisors: pci_mappings:) and use its name here",
                )


@rule("gpu-mapping-unknown", Severity.WARNING)
def gpu_mapping_defined(inv: Inventory) -> Iterator[Violation]:
    mappings = inv.cluster.hypervisors.pci_mappings if inv.cluster.hypervisors else []
    known = {mapping.name: {device.node for device in mapping.devices} for mapping in mappings}
    for index, node in enumerate(inv.nodes):
        host = node.host or inv.cluster.proxmox_node
        for slot, gpu in enumerate(node.gpus or []):
            if BDF.fullmatch(gpu) or host in known.get(gpu, set()):
                continue
            missing = "has no device on" if gpu in known else "is not defined for"
            yield (
                inv.at.node_value(index, "gpus", slot),
                f"PCI mapping {gpu!r} {missing} host {host}",
                "define it under hypervisors: pci_mappings:, or make sure it exists in Proxmox",
            )


@rule("agent-mismatch")
def agent_agrees(inv: Inventory) -> Iterator[Violation]:
    """If the agent is enabled but not running, every read of the VM waits 15 minutes."""
    if not on_proxmox(inv.cluster) or not _advanced(inv).qemu_agent:
        return
    for index, node in enumerate(inv.nodes):
        explicit = node.schematic_id
        lacks = explicit == EMPTY if explicit else QEMU_AGENT not in extensions(inv.cluster, node)
        if lacks:
            key = "schematic_id" if explicit else "name"
            yield (
                inv.at.node_value(index, key),
                f"qemu_agent is enabled, but the schematic of {node.name} lacks {QEMU_AGENT}",
                f"add {QEMU_AGENT} to extensions, or set qemu_agent: false",
            )


@rule("agent-unused", Severity.WARNING)
def agent_used(inv: Inventory) -> Iterator[Violation]:
    if not on_proxmox(inv.cluster) or _advanced(inv).qemu_agent:
        return
    for index, node in enumerate(inv.nodes):
        carried = extensions(inv.cluster, node)
        if node.schematic_id == AGENT_ONLY or (not node.schematic_id and QEMU_AGENT in carried):
            yield (
                inv.at.node_value(index, "name"),
                f"{node.name} includes {QEMU_AGENT}, but qemu_agent is disabled in Proxmox",
                "set proxmox_vm_advanced: qemu_agent: true, or remove the extension",
            )


@rule("two-schematics")
def one_schematic(inv: Inventory) -> Iterator[Violation]:
    for index, node in enumerate(inv.nodes):
        if node.schematic_id and node.extensions:
            yield (
                inv.at.node_value(index, "extensions"),
                f"{node.name} has both a schematic_id and extensions",
                "keep one: the id already defines the extensions",
            )
