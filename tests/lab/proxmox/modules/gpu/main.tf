# A GPU under a name, and a VM that gets it by that name.
variable "step" { type = number }

resource "proxmox_hardware_mapping_pci" "gpu" {
  name    = "gpu0"
  comment = "step ${var.step}"
  map = [{
    id           = "10de:2204"
    subsystem_id = "1458:403b"
    node         = "pve"
    path         = "0000:01:00.0"
    iommu_group  = 14
  }]
}

data "proxmox_hardware_pci" "all" { node_name = "pve" }

output "devices" { value = length(data.proxmox_hardware_pci.all.devices) }

resource "proxmox_virtual_environment_vm" "gpu" {
  name            = "gpu"
  node_name       = "pve"
  vm_id           = 150
  bios            = "ovmf"
  machine         = "q35"
  stop_on_destroy = true
  boot_order      = ["scsi0"]

  agent { enabled = false }
  cpu {
    cores = 2
    type  = "host"
  }
  memory { dedicated = 2048 }
  efi_disk {
    datastore_id = "local-lvm"
    type         = "4m"
  }
  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = 10
  }
  hostpci {
    device  = "hostpci0"
    mapping = proxmox_hardware_mapping_pci.gpu.name
    pcie    = true
    rombar  = true
    xvga    = var.step > 1
  }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:03:01"
  }
  operating_system { type = "l26" }
}
