"""What a change of the configuration does to a running VM, call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab_provider.configurations import label, one_vm

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

pytestmark = pytest.mark.slow

ONLINE = ["PUT config"]
RESTART = ["PUT config", "POST status/stop", "POST status/start"]
MOVE = ["PUT config", "POST status/stop", "POST move_disk", "POST status/start"]
GROW = ["PUT config", "PUT resize", "PUT config"]
NETWORK = "  network_device {\n"
CPU = "cores = 4"
STORE_OF_DISK = 'datastore_id = "local-lvm"\n    size'
STORE_OF_EFI = 'datastore_id = "local-lvm"\n    type'
SIZE = "size         = 20"
INITIALIZATION = """
  initialization {
    datastore_id = "local-lvm"
    ip_config {
      ipv4 {
        address = "10.0.0.5/24"
        gateway = "10.0.0.1"
      }
    }
  }
  network_device {
"""

GPU = """serial_device {}
  hostpci {
    device  = "hostpci0"
    mapping = "gpu0"
    pcie    = true
    rombar  = true
  }"""

# What is replaced in the usual VM → the calls that change something.
ROWS: dict[str, tuple[list[tuple[str, str]], list[str]]] = {
    "cores": ([(CPU, "cores = 2")], RESTART),
    "cpu type": ([('type  = "host"', 'type  = "x86-64-v3"')], RESTART),
    "memory": ([("dedicated = 8192", "dedicated = 4096")], RESTART),
    "more memory": ([("dedicated = 8192", "dedicated = 9216")], RESTART),
    "boot order": ([('["scsi0", "ide3"]', '["ide3", "scsi0"]')], RESTART),
    "machine": ([('= "q35"', '= "pc-q35-9.2"')], RESTART),
    "scsi hardware": ([('"virtio-scsi-single"', '"virtio-scsi-pci"')], RESTART),
    "agent type": ([("enabled = false", 'type = "isa"')], RESTART),
    "operating system": ([('type = "l26"', 'type = "other"')], RESTART),
    "second serial": ([("serial_device {}", "serial_device {}\n  serial_device {}")], RESTART),
    "vga": ([("serial_device {}", 'serial_device {}\n  vga {\n    type = "qxl"\n  }')], RESTART),
    "GPU": (
        [("serial_device {}", GPU)],
        RESTART,
    ),
    "tags": ([('["talos", "controlplane"]', '["talos"]')], ONLINE),
    "description": ([('"a node"', '"the node"')], ONLINE),
    "no description": ([('description     = "a node"', "")], ONLINE),
    "name": ([('"cp-1"', '"cp-2"')], ONLINE),
    "startup": ([("up_delay   = 30", "up_delay   = 40")], ONLINE),
    "on boot": ([("on_boot         = true", "on_boot         = false")], ONLINE),
    "protection": ([("migrate         = true", "migrate = true\n  protection = true")], ONLINE),
    "VLAN": ([("vlan_id     = 20", "vlan_id     = 30")], ONLINE),
    "second NIC": (
        [
            (
                "  network_device {",
                '  network_device {\n    bridge = "vmbr1"\n  }\n  network_device {',
            )
        ],
        ONLINE,
    ),
    "cdrom": ([('"local:iso/talos.iso"', '"none"')], ONLINE),
    "disk option": ([('discard      = "on"', 'discard      = "ignore"')], ONLINE),
    "disk aio": ([(SIZE, f'{SIZE}\n    aio = "threads"')], RESTART),
    "disk growth": ([(SIZE, "size         = 30")], GROW),
    "second disk": (
        [(NETWORK, '  disk {\n    interface = "scsi1"\n    size = 5\n  }\n' + NETWORK)],
        ONLINE,
    ),
    "disk to another datastore": ([(STORE_OF_DISK, STORE_OF_DISK.replace("-lvm", ""))], MOVE),
    "EFI disk to another datastore": (
        [(STORE_OF_EFI, STORE_OF_EFI.replace("-lvm", ""))],
        MOVE,
    ),
    "cores and disk growth": (
        [(CPU, "cores = 2"), (SIZE, "size         = 30")],
        ["PUT config", "POST status/stop", "PUT resize", "PUT config", "POST status/start"],
    ),
    "off": ([("migrate         = true", "migrate = true\n  started = false")], [*RESTART[:2]]),
    "cores without a reboot": (
        [
            (CPU, "cores = 2"),
            ("migrate         = true", "migrate = true\n  reboot_after_update = false"),
        ],
        ONLINE,
    ),
    "other settings of the provider": (
        [("stop_on_destroy = true", "stop_on_destroy = false")],
        ONLINE,
    ),
    "TPM": (
        [("serial_device {}", "serial_device {}\n  tpm_state {}")],
        ["POST status/stop", "PUT config", "POST status/start"],
    ),
    "cloud-init": (
        [("  network_device {\n", INITIALIZATION)],
        ["POST status/stop", "PUT config", "PUT config", "PUT cloudinit", "POST status/start"],
    ),
    "another node": ([('"pve1"', '"pve2"')], ["POST migrate", "PUT config"]),
    "pool": (
        [("migrate         = true", 'migrate = true\n  pool_id = "k8s"')],
        ["PUT pools", "PUT config"],
    ),
}
IDS = {row: 200 + i for i, row in enumerate(ROWS)}


def calls_by_row(fake: Fake) -> dict[str, list[str]]:
    """Which changing calls each VM got, without the beginning of their paths."""
    found: dict[str, list[str]] = {row: [] for row in ROWS}
    for (call, body), row_id in ((entry, IDS) for entry in fake.bodies):
        method, _, path = call.partition(" ")
        for row, vmid in row_id.items():
            if f"/qemu/{vmid}/" in path and method != "GET":
                found[row].append(f"{method} {path.partition(f'/{vmid}/')[2]}")
            elif path == "/pools" and method == "PUT" and body.get("vms") == str(vmid):
                found[row].append("PUT pools")
    return found


def test_a_change_makes_the_calls_it_should(workspace: Workspace, fake: Fake) -> None:
    """Online where it can be, off and on where it must be, and never more than that."""
    fake.pools["k8s"] = {"members": set(), "comment": ""}
    workspace.apply("".join(one_vm(label(row), vmid) for row, vmid in IDS.items()))
    new = "".join(one_vm(label(row), IDS[row], *changes) for row, (changes, _) in ROWS.items())
    plan = workspace.plan(new)
    assert {tuple(change["actions"]) for change in plan.values()} == {("update",)}
    assert len(plan) == len(ROWS)
    fake.forget()
    workspace.apply()
    assert calls_by_row(fake) == {row: calls for row, (_, calls) in ROWS.items()}
    assert workspace.plan() == {}
    assert fake.running == set(IDS.values()) - {IDS["off"]}


REPLACED = {
    "vm id": ([("= 101", "= 150")], "vm_id"),
    "EFI type": ([('type         = "4m"', 'type         = "2m"')], "efi_disk"),
}


@pytest.mark.parametrize("row", REPLACED)
def test_some_changes_replace_the_vm(row: str, with_vm: Workspace) -> None:
    """What cannot be changed in place is told as a replacement, with its reason."""
    changes, cause = REPLACED[row]
    plan = with_vm.plan(one_vm("node", 101, *changes))
    change = plan["proxmox_virtual_environment_vm.node"]
    assert change["actions"] == ["delete", "create"]
    assert change["replace"][0][0] == cause


def test_a_disk_put_before_another_takes_its_volume(with_vm: Workspace, fake: Fake) -> None:
    """A trap of the real provider: blocks are matched by position, so new disks go last."""
    first = "  cdrom {"
    before = (first, '  disk {\n    interface = "scsi1"\n    size = 5\n  }\n' + first)
    with_vm.apply(one_vm("node", 101, before))
    volumes = [fake.vms[101][slot].partition(",")[0] for slot in ("scsi0", "scsi1")]
    assert volumes[0] == volumes[1]


def test_a_disk_of_somebody_else_is_lost(with_vm: Workspace, fake: Fake) -> None:
    """The trap that the plan judge is there for: any change of a disk detaches foreign ones."""
    fake.vms[101]["scsi1"] = "local-lvm:vm-9999-csi,size=1G"
    assert with_vm.plan() == {}
    with_vm.apply(one_vm("node", 101, (SIZE, "size         = 30")))
    assert "scsi1" not in fake.vms[101]


REFUSED = {
    "shrinking": ([(SIZE, "size         = 10")], "hrink"),
    "deleting the boot disk": ([('interface    = "scsi0"', 'interface    = "scsi1"')], "boot"),
    "growth without a reboot": (
        [
            (CPU, "cores = 2"),
            (SIZE, "size         = 30"),
            ("migrate         = true", "migrate = true\n  reboot_after_update = false"),
        ],
        "reboot_after_update",
    ),
    "queues on virtio": (
        [('interface    = "scsi0"', 'interface    = "virtio0"\n    queues = 4'), ('"scsi0", ', "")],
        "queues",
    ),
}


@pytest.mark.parametrize("row", REFUSED)
def test_what_cannot_be_done_is_refused(row: str, with_vm: Workspace, fake: Fake) -> None:
    """The VM stays on, and the message says why."""
    changes, reason = REFUSED[row]
    with_vm.write(one_vm("node", 101, *changes))
    result = with_vm.run("apply", "-auto-approve", "-no-color")
    assert result.code == 1
    assert reason in result.out
    assert fake.running == {101}
