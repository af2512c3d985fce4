# A VM whose disk is imported from a disk image, in a pool, with a cloud-init drive and a TPM.
variable "factory" { type = string }
variable "step" { type = number }

resource "proxmox_download_file" "image" {
  node_name    = "pve"
  datastore_id = "local"
  content_type = "import"
  overwrite    = false
  file_name    = "talos.qcow2"
  url          = "${var.factory}/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.qcow2"
}

resource "proxmox_virtual_environment_pool" "pool" {
  pool_id = "talos"
  comment = "step ${var.step}"
}

resource "proxmox_virtual_environment_vm" "node" {
  count           = 2
  name            = "node${count.index}"
  node_name       = "pve"
  pool_id         = proxmox_virtual_environment_pool.pool.pool_id
  description     = "step ${var.step}"
  tags            = ["talos", "step${var.step}"]
  bios            = "ovmf"
  machine         = "q35"
  scsi_hardware   = "virtio-scsi-single"
  boot_order      = ["scsi0"]
  stop_on_destroy = true
  migrate         = true

  agent { enabled = false }

  cpu {
    cores = 2 * var.step
    type  = "host"
  }

  memory { dedicated = 2048 * var.step }

  efi_disk {
    datastore_id      = "local-lvm"
    type              = "4m"
    pre_enrolled_keys = true
  }

  tpm_state {
    datastore_id = "local-lvm"
    version      = "v2.0"
  }

  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    import_from  = proxmox_download_file.image.id
    size         = 10 * var.step
    iothread     = true
    ssd          = true
    discard      = "on"
  }

  dynamic "disk" {
    for_each = var.step > 1 ? [1] : []
    content {
      datastore_id = "local-lvm"
      interface    = "scsi1"
      size         = 50
    }
  }

  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:01:0${count.index}"
    vlan_id     = var.step * 10
  }

  initialization {
    datastore_id = "local-lvm"
    interface    = "ide2"
    ip_config {
      ipv4 {
        address = "127.79.10.${count.index + 10}/24"
        gateway = "127.79.10.1"
      }
    }
    dns { servers = ["127.79.0.53"] }
  }

  operating_system { type = "l26" }
  serial_device {}
}
