# A VM that boots from an ISO: the one whose out-of-band changes are watched.
variable "factory" { type = string }
variable "step" { type = number }

resource "proxmox_download_file" "iso" {
  node_name    = "pve"
  datastore_id = "local"
  content_type = "iso"
  overwrite    = false
  file_name    = "talos.iso"
  url          = "${var.factory}/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.iso"
}

resource "proxmox_virtual_environment_vm" "cp" {
  name            = "cp1"
  node_name       = "pve"
  vm_id           = 101
  description     = "step ${var.step}"
  tags            = ["controlplane", "talos"]
  bios            = "ovmf"
  machine         = "q35"
  on_boot         = true
  stop_on_destroy = true
  migrate         = true
  boot_order      = ["scsi0", "ide3"]
  scsi_hardware   = "virtio-scsi-single"

  startup {
    order      = 1
    up_delay   = 30
    down_delay = 60
  }
  agent { enabled = false }
  cpu {
    cores = 4 * var.step
    type  = "host"
  }
  memory { dedicated = 8192 }
  efi_disk {
    datastore_id = "local-lvm"
    type         = "4m"
  }
  cdrom {
    file_id   = proxmox_download_file.iso.id
    interface = "ide3"
  }
  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = 20
    iothread     = true
    ssd          = true
    discard      = "on"
  }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:00:01"
    vlan_id     = 20
  }
  operating_system { type = "l26" }
  serial_device {}
}
