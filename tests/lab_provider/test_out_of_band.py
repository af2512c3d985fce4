"""What somebody changes behind OpenTofu's back, and what the next plan says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.lab_provider.configurations import VM, label, one_vm

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

pytestmark = pytest.mark.slow

NODE = "proxmox_virtual_environment_vm.node"
SCSI0 = "local-lvm:vm-101-disk-0"
GONE = None

# What is done to the VM's configuration (None: the key goes) → the attributes that differ then.
ROWS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "agent said shorter": ({"agent": "0"}, []),
    "agent enabled=0 only": ({"agent": "enabled=0"}, []),
    "agent gone": ({"agent": GONE}, ["agent"]),
    "startup gone": ({"startup": GONE}, ["startup"]),
    "startup partial": ({"startup": "order=1"}, ["startup"]),
    "cpu gone": ({"cpu": GONE}, ["cpu"]),
    "cpu in its long form": ({"cpu": "cputype=host"}, []),
    "cores": ({"cores": 2}, ["cpu"]),
    "memory": ({"memory": "4096"}, ["memory"]),
    "memory as a number": ({"memory": 8192}, []),
    "machine pinned": ({"machine": "pc-q35-9.2"}, ["machine"]),
    "machine with viommu": ({"machine": "q35,viommu=virtio"}, ["machine"]),
    "boot gone": ({"boot": GONE}, ["boot_order"]),
    "boot longer": ({"boot": "order=scsi0;ide3;net0"}, ["boot_order"]),
    "ostype gone": ({"ostype": GONE}, ["operating_system"]),
    "tags in another order": ({"tags": "talos;controlplane"}, []),
    "tags with commas": ({"tags": "controlplane,talos"}, ["tags"]),
    "tags gone": ({"tags": GONE}, ["tags"]),
    "description with a newline": ({"description": "a node\n"}, ["description"]),
    "EFI keys not told": ({"efidisk0": "local-lvm:vm-101-disk-1,efitype=4m,size=4M"}, []),
    "EFI disk with ms-cert": (
        {"efidisk0": "local-lvm:vm-101-disk-1,efitype=4m,ms-cert=2023,pre-enrolled-keys=0,size=4M"},
        [],
    ),
    "cdrom ejected": ({"ide3": "none,media=cdrom"}, ["cdrom"]),
    "cdrom removed": ({"ide3": GONE}, ["cdrom"]),
    "onboot gone": ({"onboot": GONE}, ["on_boot"]),
    "onboot as text": ({"onboot": "1"}, ["on_boot"]),
    "defaults not told": (
        dict.fromkeys(["numa", "balloon", "keyboard", "tablet", "acpi", "protection", "smbios1"]),
        [],
    ),
    "scsihw not told": ({"scsihw": GONE}, []),
    "disk options not told": ({"scsi0": f"{SCSI0},discard=on,iothread=1,size=20G,ssd=1"}, []),
    "disk without discard": ({"scsi0": f"{SCSI0},iothread=1,size=20G,ssd=1"}, ["disk"]),
    "disk size not told": ({"scsi0": f"{SCSI0},discard=on,iothread=1,ssd=1"}, []),
    "disk size in MiB": ({"scsi0": f"{SCSI0},discard=on,iothread=1,size=20480M,ssd=1"}, []),
    "disk a bit larger": ({"scsi0": f"{SCSI0},discard=on,iothread=1,size=20481M,ssd=1"}, []),
    "disk grown": ({"scsi0": f"{SCSI0},discard=on,iothread=1,size=30G,ssd=1"}, ["disk"]),
    "foreign disk": ({"scsi1": "local-lvm:vm-9999-csi,size=1G"}, []),
    "MAC in lower case": (
        {"net0": "virtio=bc:24:11:00:01:01,bridge=vmbr0,firewall=0,mtu=1500,queues=4,tag=20"},
        ["network_device"],
    ),
    "net0 without firewall": (
        {"net0": "virtio=BC:24:11:00:01:01,bridge=vmbr0,mtu=1500,queues=4,tag=20"},
        [],
    ),
    "net0 on another bridge": (
        {"net0": "virtio=BC:24:11:00:01:01,bridge=vmbr1,mtu=1500,queues=4,tag=20"},
        ["network_device"],
    ),
    "foreign NIC": ({"net1": "virtio=BC:24:11:00:01:02,bridge=vmbr0"}, ["network_device"]),
    "serial gone": ({"serial0": GONE}, ["serial_device"]),
    "vga added": ({"vga": "type=qxl"}, []),
    "hotplug present": ({"hotplug": "disk,network,usb"}, []),
    "name": ({"name": "other"}, ["name"]),
    "bios": ({"bios": GONE}, ["bios"]),
    "PCI device added": ({"hostpci0": "mapping=gpu0,pcie=1"}, ["hostpci"]),
    "cloud-init added": ({"ipconfig0": "ip=dhcp"}, ["initialization"]),
}


IDS = {row: 200 + i for i, row in enumerate(ROWS)}
EVERY_ROW = "".join(one_vm(label(row), vmid) for row, vmid in IDS.items())
# A disk cannot shrink, and cloud-init keys are never taken away again.
NOT_REPAIRED = {"disk grown", "cloud-init added"}


def change(fake: Fake, keys: dict[str, Any], vmid: int = 101) -> None:
    for key, value in keys.items():
        if value is GONE:
            fake.vms[vmid].pop(key, None)
        else:
            told = value.replace("-101-", f"-{vmid}-") if isinstance(value, str) else value
            fake.vms[vmid][key] = told


def by_row(plan: dict[str, Any]) -> dict[str, Any]:
    found = {row: plan.get(f"proxmox_virtual_environment_vm.{label(row)}") for row in ROWS}
    return {row: change["attributes"] if change else [] for row, change in found.items()}


def test_the_plan_shows_what_it_should(workspace: Workspace, fake: Fake) -> None:
    """A difference that matters is shown, one that is only another way of saying is not."""
    workspace.apply(EVERY_ROW)
    assert workspace.plan() == {}
    for row, (keys, _) in ROWS.items():
        change(fake, keys, IDS[row])
    plan = workspace.plan()
    assert by_row(plan) == {row: attributes for row, (_, attributes) in ROWS.items()}
    assert {tuple(change["actions"]) for change in plan.values()} == {("update",)}


def test_apply_repairs_it(workspace: Workspace, fake: Fake) -> None:
    """One apply brings back what was changed, and then there is nothing left to do."""
    workspace.apply(EVERY_ROW)
    for row, (keys, _) in ROWS.items():
        if row not in NOT_REPAIRED:
            change(fake, keys, IDS[row])
    workspace.apply()
    assert workspace.plan() == {}
    assert fake.running == set(IDS.values())


def test_cloud_init_of_somebody_else_stays(with_vm: Workspace, fake: Fake) -> None:
    """The plan shows it again and again: nothing ever takes such keys away."""
    change(fake, ROWS["cloud-init added"][0])
    with_vm.apply()
    assert with_vm.plan()[NODE]["attributes"] == ["initialization"]


def test_a_lost_efi_type_means_replacement(with_vm: Workspace, fake: Fake) -> None:
    """An EFI disk of unknown type counts as 2m, which cannot become 4m in place."""
    change(fake, {"efidisk0": "local-lvm:vm-101-disk-1,size=4M"})
    plan = with_vm.plan()[NODE]
    assert plan["actions"] == ["delete", "create"]
    assert ["efi_disk", 0, "type"] in plan["replace"]


def test_cores_as_text_cannot_be_read(with_vm: Workspace, fake: Fake) -> None:
    """A number that comes as text is an error, not a difference."""
    change(fake, {"cores": "4"})
    result = with_vm.run("plan", "-no-color")
    assert result.code == 1
    assert "decode" in result.out


def test_a_stopped_vm_is_to_be_started(with_vm: Workspace, fake: Fake) -> None:
    """The plan wants it on again, and apply does just that."""
    fake.running.clear()
    plan = with_vm.plan()[NODE]
    assert plan["actions"] == ["update"]
    assert "started" in plan["attributes"]
    fake.forget()
    with_vm.apply()
    assert fake.running == {101}
    assert not [call for call in fake.changes() if call.endswith("/status/stop")]


@pytest.mark.parametrize(
    ("migrate", "actions"), [(True, ["update"]), (False, ["delete", "create"])]
)
def test_a_moved_vm(migrate: bool, actions: list[str], with_vm: Workspace, fake: Fake) -> None:
    """`migrate` decides whether a VM on another node is moved back or made anew."""
    if not migrate:
        with_vm.apply(VM.replace("migrate         = true", "migrate         = false"))
    fake.where[101] = "pve2"
    assert with_vm.plan()[NODE]["actions"] == actions


def test_a_deleted_vm_is_made_again(with_vm: Workspace, fake: Fake) -> None:
    """A VM that is nowhere is created; nothing is destroyed first."""
    fake.vms.clear()
    fake.where.clear()
    assert with_vm.plan()[NODE]["actions"] == ["create"]
