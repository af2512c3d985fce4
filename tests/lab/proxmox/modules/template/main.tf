# A template from a disk image, a full clone and a linked clone of it.
variable "factory" { type = string }
variable "step" { type = number }

resource "proxmox_download_file" "image" {
  node_name    = "pve"
  datastore_id = "local"
  content_type = "import"
  overwrite    = false
  file_name    = "talos.raw"
  url          = "${var.factory}/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.raw"
}

resource "proxmox_virtual_environment_vm" "template" {
  name          = "talos-base"
  node_name     = "pve"
  vm_id         = 9000
  template      = true
  started       = false
  machine       = "q35"
  bios          = "ovmf"
  scsi_hardware = "virtio-scsi-single"
  boot_order    = ["scsi0"]

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
    import_from  = proxmox_download_file.image.id
    size         = 10
  }
  network_device { bridge = "vmbr0" }
  operating_system { type = "l26" }
  serial_device {}
}

resource "proxmox_virtual_environment_vm" "clone" {
  for_each        = { full = 201, linked = 202 }
  name            = each.key
  node_name       = "pve"
  vm_id           = each.value
  stop_on_destroy = true
  boot_order      = ["scsi0"]

  clone {
    vm_id = proxmox_virtual_environment_vm.template.vm_id
    full  = each.key == "full"
  }
  agent { enabled = false }
  cpu {
    cores = 2 * var.step
    type  = "host"
  }
  memory { dedicated = 4096 }
  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = 20 * var.step
  }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:02:${each.value - 180}"
  }
  operating_system { type = "l26" }
}
