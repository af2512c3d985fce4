"""What a machine is known by: UUIDs in their byte orders, MACs, and the VM of a node (row 2)."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest
from tests.security.cluster.impostor import MAC, UUID
from tests.security.cluster.test_row_02_enrolment import OTHER_MAC, VM

from talops.site.enrolment.machine import macs_of, swapped, uuid_of
from talops.site.enrolment.vms import choose
from talops.talos.kinds import LinkStatus, SystemInformation

# Bytes of the UUID in real DMI dumps, and the text that Talos' decoder makes of them: *.dmi and
# *.json in smbios/testdata of github.com/siderolabs/go-smbios.
DUMPS = {
    "Dell PowerEdge": ("44454c4c390010308048b7c04f384432", "4c4c4544-0039-3010-8048-b7c04f384432"),
    "Hyper-V": ("ef4968b2b04f034ea9d11a165a40c8d7", "b26849ef-4fb0-4e03-a9d1-1a165a40c8d7"),
    "Supermicro": ("483851473600003048fe003048fec30c", "47513848-0036-3000-48fe-003048fec30c"),
}
# A text for which the firmware was never given a value, from a dump there (Beelink EQ12).
DEFAULT = "03000200-0400-0500-0006-000700080009"


@pytest.mark.parametrize("name", DUMPS)
def test_byte_order_of_a_uuid(name: str) -> None:
    """Talos reads the first three fields with the lowest byte first, and so does QEMU write them
    (`smbios_encode_uuid` in hw/smbios/smbios.c): both sides have the text of Proxmox.
    """
    raw, text = DUMPS[name]
    assert str(uuid.UUID(bytes_le=bytes.fromhex(raw))) == text
    assert uuid.UUID(text).bytes_le.hex() == raw
    assert swapped(text) == str(uuid.UUID(bytes=bytes.fromhex(raw)))
    assert swapped(swapped(text)) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (UUID.upper(), UUID),
        (DEFAULT, ""),
        (swapped(DEFAULT), ""),
        ("00000000-0000-0000-0000-000000000000", ""),
        ("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", ""),
        ("", ""),
        (f"{UUID}\n", ""),
    ],
)
def test_a_uuid_that_identifies(text: str, found: str) -> None:
    """Values that many machines share identify none of them."""
    assert uuid_of(SystemInformation(text, "", "", "")) == found


def test_macs_of_a_machine() -> None:
    """The loopback device, a tunnel and a bond add no address of a card."""

    def link(now: str, permanent: str = "") -> LinkStatus:
        return LinkStatus("x", "", now, permanent, up=True, mtu=1500, kind="")

    found = macs_of(
        [
            link("00:00:00:00:00:00"),
            link(""),
            link("bc:24:11:00:00:01"),
            link("bc:24:11:00:00:01", "bc:24:11:99:99:99"),
        ]
    )
    assert found == {MAC, OTHER_MAC}


NODE = SimpleNamespace(name="cp-1", mac=MAC, vm=SimpleNamespace(vm_id=None))
SECOND = {**VM, "vmid": 102}


@pytest.mark.parametrize(
    ("vm_id", "vms", "expected"),
    [
        (None, [SECOND, {**VM, "name": "mail"}], "VM 102 on pve"),
        (None, [VM, SECOND], "several VMs fit: VM 101 on pve, VM 102 on pve"),
        (101, [VM, SECOND], "VM 101 on pve"),
        (101, [{**VM, "name": "mail"}], "VM 101 on pve is called mail"),
        (101, [{**VM, "net0": f"virtio={OTHER_MAC}"}], f"VM 101 on pve lacks the MAC {MAC}"),
        (None, [{**VM, "template": 1}], "Proxmox does not show its VM"),
    ],
)
def test_which_vm_is_the_node(vm_id: int | None, vms: Any, expected: str) -> None:
    """Name, tag and MAC together, and the VMID where nodes.yaml has one."""
    node: Any = NODE
    node.vm.vm_id = vm_id
    found = choose(node, "demo", vms)
    assert getattr(found, "place", found) == expected
