"""Configurations that several tests share."""

from __future__ import annotations

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


def one_vm(label: str, vmid: int, *changes: tuple[str, str]) -> str:
    """The usual VM under another name and id, with pieces of its text replaced."""
    text = VM.replace(' "node" {', f' "{label}" {{').replace("= 101", f"= {vmid}")
    for old, new in changes:
        assert old in text, f"{old!r} is not in the usual VM"
        text = text.replace(old, new)
    return text


def label(row: str) -> str:
    """A row's name as an identifier."""
    return "".join(c if c.isalnum() else "_" for c in row)
