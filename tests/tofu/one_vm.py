"""A VM for the plan judge and the real provider to look at, as text, and a lab that fits it."""

from __future__ import annotations

from talops.lab.spec import STORAGES, HypervisorSpec, LabSpec, NodeSpec, StorageSpec

COMMON = """
resource "proxmox_virtual_environment_pool" "pool" { pool_id = "k8s" }

resource "proxmox_hardware_mapping_pci" "gpu" {
  name = "gpu0"
  map = [{
    id           = "10de:2204"
    subsystem_id = "1458:403b"
    node         = "pve"
    path         = "0000:01:00.0"
    iommu_group  = 14
  }]
}
"""
VM = """
resource "proxmox_virtual_environment_vm" "LABEL" {
  name            = "LABEL"
  node_name       = "pve"
  vm_id           = NUMBER
  tags            = ["talos", "worker"]
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
    cores = 2
    type  = "host"
  }
  memory { dedicated = 2048 }
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
    file_id   = "none"
    interface = "ide3"
  }
  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = 2
    iothread     = true
    ssd          = true
    discard      = "on"
  }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:0F:TWO"
    vlan_id     = 20
  }
  depends_on = [proxmox_virtual_environment_pool.pool, proxmox_hardware_mapping_pci.gpu]
}
"""
THIN = StorageSpec(
    storage="thin",
    type="lvmthin",
    content="images",
    options={"vgname": "pve2", "thinpool": "data"},
)
SPEC = LabSpec(
    proxmox=(HypervisorSpec(name="pve", nodes=(NodeSpec(name="pve"),), storages=(*STORAGES, THIN)),)
)


def one(name: str, number: int, *changes: tuple[str, str]) -> str:
    """The VM under that name, with pieces of its text replaced."""
    text = VM.replace("LABEL", name)
    for old, new in changes:
        assert old in text, f"{name}: {old!r} is not in the VM"
        text = text.replace(old, new)
    return text.replace("NUMBER", str(number)).replace("TWO", f"{number - 200:02X}")
