"""VMs from templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

pytestmark = pytest.mark.slow

TEMPLATE = """
resource "proxmox_virtual_environment_vm" "base" {
  name      = "talos-base"
  node_name = "pve1"
  vm_id     = 900
  template  = true
  started   = false
  bios      = "ovmf"
  machine   = "q35"
  cpu { type = "host" }
  memory { dedicated = 2048 }
  efi_disk { type = "4m" }
  disk {
    interface   = "scsi0"
    import_from = "local:import/talos.raw"
    size        = 10
  }
  network_device {}
  operating_system { type = "l26" }
  serial_device {}
}
"""
CLONE = """
resource "proxmox_virtual_environment_vm" "worker" {
  name      = "w-1"
  node_name = "%(node)s"
  vm_id     = 901
  tags      = ["talos"]
  clone {
    vm_id     = proxmox_virtual_environment_vm.base.vm_id
    node_name = "pve1"
  }
  agent {}
  cpu {
    cores = 2
    type  = "host"
  }
  memory { dedicated = 4096 }
  disk {
    interface = "scsi0"
    size      = 20
    iothread  = true
  }
  network_device { mac_address = "BC:24:11:00:09:01" }
  initialization {
    ip_config {
      ipv4 {
        address = "10.0.0.9/24"
        gateway = "10.0.0.1"
      }
    }
    dns { servers = ["1.1.1.1", "9.9.9.9"] }
  }
  startup { order = 2 }
}
"""
COPIED = ["POST 900/clone"]
MOVED = ["POST 900/clone", "POST 901/migrate"]
OWN = [
    "PUT 901/config",  # the old cloud-init drive goes
    "PUT 901/config",
    "PUT 901/config",  # options of the disk
    "PUT 901/resize",
    "POST 901/status/start",
]


def changes(fake: Fake) -> list[str]:
    short = [call.replace("/nodes/pve1/qemu/", "").replace("/nodes/pve2/qemu/", "") for call in
             fake.changes()]  # fmt: skip
    return [call for call in short if "90" in call]


def test_a_template_is_imported_grown_and_closed(workspace: Workspace, fake: Fake) -> None:
    """From an image to a template, without ever being started."""
    workspace.apply(TEMPLATE)
    assert changes(fake) == ["PUT 900/resize", "POST 900/template"]
    body = next(body for call, body in fake.bodies if call.endswith("/pve1/qemu"))
    assert body["scsi0"].startswith("file=local-lvm:0,import-from=local:import/talos.raw,size=")
    assert fake.running == set()
    assert workspace.plan() == {}


@pytest.mark.parametrize(("node", "way"), [("pve1", COPIED), ("pve2", MOVED)])
def test_a_clone_gets_what_is_its_own(
    node: str, way: list[str], workspace: Workspace, fake: Fake
) -> None:
    """Cloned where the template is, moved if its storage is not shared, then configured."""
    workspace.apply(TEMPLATE)
    fake.forget()
    workspace.apply(TEMPLATE + CLONE % {"node": node})
    assert changes(fake) == [*way, *OWN]
    assert fake.where[901] == node
    assert fake.vms[901]["ipconfig0"] == "gw=10.0.0.1,ip=10.0.0.9/24"
    assert "size=20G" in fake.vms[901]["scsi0"]
    assert workspace.plan() == {}


def test_what_a_clone_does_not_configure_is_not_compared(workspace: Workspace, fake: Fake) -> None:
    """Blocks that only the template knows of may change without a word."""
    workspace.apply(TEMPLATE + CLONE % {"node": "pve1"})
    fake.vms[901] |= {"ostype": "other", "serial0": "/dev/ttyS0", "bios": "seabios"}
    fake.vms[901].pop("machine")
    assert workspace.plan() == {}


def test_another_source_means_another_vm(workspace: Workspace, fake: Fake) -> None:
    """A clone cannot be told to come from somewhere else."""
    body = TEMPLATE + CLONE % {"node": "pve1"}
    workspace.apply(body)
    plan = workspace.plan(
        body.replace("vm_id     = proxmox_virtual_environment_vm.base.vm_id", "vm_id = 999")
    )
    change = plan["proxmox_virtual_environment_vm.worker"]
    assert change["actions"] == ["delete", "create"]
    assert change["replace"] == [["clone", 0, "vm_id"]]


def test_a_clone_cannot_be_smaller(workspace: Workspace) -> None:
    """A disk that should shrink is refused, and the VM stays in the state as tainted."""
    small = (CLONE % {"node": "pve1"}).replace("size      = 20", "size      = 5")
    workspace.write(TEMPLATE + small)
    result = workspace.run("apply", "-auto-approve", "-no-color")
    assert result.code == 1
    plan = workspace.plan(TEMPLATE + CLONE % {"node": "pve1"})
    assert plan["proxmox_virtual_environment_vm.worker"]["actions"] == ["delete", "create"]
