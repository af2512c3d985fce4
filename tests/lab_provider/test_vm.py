"""Virtual machines, from creation to destruction, by a real OpenTofu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

VM = """
resource "proxmox_virtual_environment_vm" "node" {
  name            = "cp-1"
  node_name       = "pve1"
  vm_id           = 101
  tags            = ["talos", "controlplane"]
  description     = "a node"
  bios            = "ovmf"
  machine         = "q35"
  scsi_hardware   = "virtio-scsi-single"
  on_boot         = true
  boot_order      = ["scsi0", "ide3"]
  stop_on_destroy = true
  migrate         = true
  agent { enabled = false }
  cpu {
    cores = 4
    type  = "host"
  }
  memory { dedicated = 8192 }
  operating_system { type = "l26" }
  serial_device {}
  startup {
    order      = 1
    up_delay   = 30
    down_delay = 60
  }
  efi_disk {
    datastore_id = "local-lvm"
    type         = "4m"
  }
  cdrom {
    file_id   = "local:iso/talos.iso"
    interface = "ide3"
  }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 20
    iothread     = true
    ssd          = true
    discard      = "on"
  }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:01:01"
    vlan_id     = 20
    mtu         = 1500
    queues      = 4
  }
}
"""


@pytest.mark.slow
def test_a_vm_is_made_once_and_stays(workspace: Workspace, fake: Fake) -> None:
    """Apply makes the VM, a second plan is empty, destroy takes it away."""
    workspace.write(VM)
    workspace.init()
    workspace.apply()
    assert workspace.plan() == {}
    assert fake.running == {101}
    workspace.destroy()
    assert fake.vms == {}
