# Clones on other nodes: over a shared storage, and from a local one by migrating.
variable "factory" { type = string }
variable "step" { type = number }

resource "proxmox_download_file" "image" {
  node_name    = "pve1"
  datastore_id = "local"
  content_type = "import"
  overwrite    = false
  file_name    = "talos.raw"
  url          = "${var.factory}/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.raw"
}

resource "proxmox_virtual_environment_vm" "template" {
  for_each      = { local-lvm = 9000, nas = 9001 }
  name          = "base-${each.key}"
  node_name     = "pve1"
  vm_id         = each.value
  template      = true
  started       = false
  scsi_hardware = "virtio-scsi-single"
  boot_order    = ["scsi0"]

  agent { enabled = false }
  cpu { type = "host" }
  disk {
    datastore_id = each.key
    interface    = "scsi0"
    import_from  = proxmox_download_file.image.id
    size         = 10
  }
  operating_system { type = "l26" }
}

resource "proxmox_virtual_environment_vm" "clone" {
  for_each        = { local-lvm = 201, nas = 202 }
  name            = "clone-${each.key}"
  node_name       = var.step == 1 ? "pve2" : "pve1"
  vm_id           = each.value
  stop_on_destroy = true
  migrate         = true
  boot_order      = ["scsi0"]

  clone {
    vm_id     = proxmox_virtual_environment_vm.template[each.key].vm_id
    node_name = "pve1"
    full      = true
  }
  agent { enabled = false }
  cpu { type = "host" }
  memory { dedicated = 2048 }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:04:${each.value - 180}"
  }
  operating_system { type = "l26" }
}
