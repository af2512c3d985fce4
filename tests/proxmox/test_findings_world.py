"""Bridges, collisions, devices and templates."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.proxmox.conftest import plan, vm
from tests.proxmox.healthy import (
    BASE,
    BRIDGE,
    CARD,
    CLONED,
    DISK,
    GPU,
    MAPPED,
    MAPPING,
    MARK,
    OTHER,
    OURS,
    SOUND,
    TAGGED,
    P,
    Row,
    judge,
    names,
)

from talops.proxmox.facts import Unread
from talops.proxmox.wanted import Managed

PLANNED = replace(GPU, managed=Managed(mappings={"gpu0": (replace(MAPPED, subsystem_id=""),)}))
OLD = replace(MARK, version="v1.12.0")
NETWORK: list[Row] = [
    (P, {"interfaces": ()}, "bridge", "error", "no bridge vmbr0; it has none", "network_bridge"),
    (
        P,
        {"interfaces": (replace(BRIDGE, name="vmbr9"),)},
        "bridge",
        "error",
        "there are: vmbr9",
        "network_bridge",
    ),
    (P, {"interfaces": (replace(BRIDGE, active=False),)}, "bridge", "error", "not up", "ifreload"),
    (P, {"interfaces": Unread("timeout")}, "unread", "error", "the bridges", "talops host check"),
    (
        TAGGED,
        {"interfaces": (replace(BRIDGE, vlan_aware=False),)},
        "vlan",
        "error",
        "not VLAN-aware",
        "bridge-vlan-aware yes",
    ),
    (
        TAGGED,
        {"interfaces": (replace(BRIDGE, vlans="2-10 30"),)},
        "vlan",
        "error",
        "passes VLANs 2-10 30, not 20",
        "bridge-vids 2-10 30 20",
    ),
]
COLLISIONS: list[Row] = [
    (
        P,
        {"guests": (replace(OTHER, vm_id=111),)},
        "vmid",
        "error",
        "taken by VM 'other'",
        "another vm_id",
    ),
    (
        P,
        {"guests": (replace(BASE, vm_id=111),)},
        "vmid",
        "error",
        "taken by template",
        "another vm_id",
    ),
    (
        P,
        {"guests": (replace(OURS, tags=frozenset()),)},
        "leftover",
        "error",
        "does not carry the tag demo",
        "give it the tag and the MAC of demo-cp-1",
    ),
    (P, {"hidden_ids": frozenset({111})}, "vmid", "error", "may not see", "VM.Audit"),
    (
        P,
        {"guests": (replace(OTHER, macs=frozenset({"BC:24:11:00:00:01"})),)},
        "mac",
        "error",
        "VM 500 (other) on pve has the MAC",
        "mac_addr",
    ),
    (
        P,
        {"guests": (replace(OTHER, addresses=frozenset({"10.0.0.11"})),)},
        "address",
        "error",
        "has the address 10.0.0.11",
        "another address",
    ),
    (
        P,
        {"interfaces": (replace(BRIDGE, address="10.0.0.11"),)},
        "address",
        "error",
        "of vmbr0 on host pve",
        "another address",
    ),
    (P, {"guests": (replace(OTHER, macs=None),)}, "unread", "warning", "VM 500", "VM.Audit"),
    (
        P,
        {"guests": Unread("timeout")},
        "unread",
        "error",
        "the existing VMs",
        "talops host check",
    ),
]
DEVICES: list[Row] = [
    (GPU, {"mappings": ()}, "mapping", "error", "no PCI mapping gpu0", "talops host prepare"),
    (
        GPU,
        {"mappings": (replace(MAPPING, devices=(replace(MAPPED, node="pve2"),)),)},
        "mapping",
        "error",
        "no device on host pve",
        "another host",
    ),
    # What PVE::Mapping::PCI compares before a VM starts; `missing expected property` otherwise.
    (
        PLANNED,
        {"mappings": ()},
        "mapping",
        "error",
        "gpu0 has no subsystem_id for device 0000:01:00.0 of pve, which has subsystem_id 1458:403b",
        'write subsystem_id: "1458:403b" for this device under hypervisors.pci_mappings',
    ),
    (
        replace(PLANNED, managed=Managed(mappings={"gpu0": (MAPPED,)})),
        {"devices": (replace(CARD, subsystem_id=""),)},
        "mapping",
        "error",
        "which has no subsystem_id: Proxmox does not start demo-cp-1",
        "remove subsystem_id",
    ),
    (
        replace(PLANNED, managed=Managed(mappings={"gpu0": (replace(MAPPED, iommu_group=None),)})),
        {},
        "mapping",
        "error",
        "has no iommu_group",
        "write iommu_group: 14 ",
    ),
    (
        GPU,
        {"mappings": (replace(MAPPING, devices=(replace(MAPPED, id="10de:2206"),)),)},
        "mapping",
        "error",
        "gpu0 has id 10de:2206 for device 0000:01:00.0 of pve, which has id 10de:2204",
        "talops host prepare",
    ),
    (
        GPU,
        {"devices": (DISK,)},
        "gpu",
        "error",
        "no PCI device 0000:01:00.0; graphics cards there: none",
        "lspci",
    ),
    (
        GPU,
        {"devices": (replace(CARD, group=None),)},
        "iommu",
        "error",
        "is not in an IOMMU group",
        "intel_iommu=on",
    ),
    (
        GPU,
        {"devices": (CARD, SOUND, DISK)},
        "iommu",
        "error",
        "shares IOMMU group 14 with 0000:02:00.0 NVMe",
        "another slot",
    ),
    (
        GPU,
        {"guests": (replace(OTHER, devices=("gpu0",)),)},
        "gpu",
        "error",
        "VM 500 (other) runs and has the device",
        "qm set 500",
    ),
    (
        GPU,
        {"guests": (replace(OTHER, devices=("0000:01:00",), running=False),)},
        "gpu",
        "warning",
        "is stopped and has",
        "qm set 500",
    ),
    (
        plan([vm(gpus=("gpu0",)), vm("demo-w-1", vm_id=121, mac="M", address="A", gpus=("gpu0",))]),
        {},
        "gpu",
        "error",
        "demo-w-1 and demo-cp-1 need the same device",
        "one card",
    ),
    (
        GPU,
        {"devices": Unread("no right", "grant it")},
        "unread",
        "error",
        "the PCI devices",
        "grant it",
    ),
    (
        GPU,
        {"mappings": Unread("timeout")},
        "unread",
        "error",
        "the PCI mappings",
        "talops host check",
    ),
]
TEMPLATES: list[Row] = [
    (
        CLONED,
        {"guests": ()},
        "template",
        "error",
        "no template talos-v1.13.9-base (VM 9000)",
        "talops template build",
    ),
    (
        CLONED,
        {"guests": (), "hidden_ids": frozenset({9000})},
        "template",
        "error",
        "may not see it",
        "VM.Audit",
    ),
    (
        CLONED,
        {"guests": (replace(BASE, template=False),)},
        "template",
        "error",
        "is not a template",
        "template_vm_id",
    ),
    (
        CLONED,
        {"guests": (replace(BASE, efi_disk=True),)},
        "template",
        "error",
        "has an EFI disk, which the provider cannot clone",
        "talops template remove talos-v1.13.9-base",
    ),
    (
        CLONED,
        {"guests": (replace(BASE, host="pve2"),)},
        "template",
        "error",
        "is on pve2",
        "qm migrate 9000 pve",
    ),
    (
        CLONED,
        {"guests": (replace(BASE, description="mine"),)},
        "template",
        "warning",
        "not created by talops",
        "talops template build",
    ),
    (
        CLONED,
        {"guests": (replace(BASE, description=OLD.line()),)},
        "template",
        "error",
        "holds Talos v1.12.0",
        "talops template remove",
    ),
    (
        CLONED,
        {"guests": (replace(BASE, description=replace(MARK, schematic="cd" * 32).line()),)},
        "template",
        "error",
        "has schematic cdcdcdcdcdcd",
        "talops template remove",
    ),
]
ROWS = NETWORK + COLLISIONS + DEVICES + TEMPLATES


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_finding_says_what_and_how_to_mend_it(row: Row) -> None:
    """Facts in, one finding with its fix out."""
    judge(row)
