# Everything that can be looked at, and a file that is uploaded.
variable "step" { type = number }

resource "proxmox_virtual_environment_file" "iso" {
  node_name    = "pve"
  datastore_id = "local"
  content_type = "iso"
  source_file {
    path      = "${path.module}/main.tf"
    file_name = "step${var.step}.iso"
  }
}

resource "proxmox_virtual_environment_vm" "vm" {
  name            = "watched"
  node_name       = "pve"
  vm_id           = 160
  stop_on_destroy = true
  agent { enabled = false }
  cpu { type = "host" }
  operating_system { type = "l26" }
}

resource "proxmox_haresource" "vm" {
  resource_id = "vm:${proxmox_virtual_environment_vm.vm.vm_id}"
  state       = var.step == 1 ? "started" : "ignored"
  comment     = "step ${var.step}"
}

resource "proxmox_pool_membership" "vm" {
  pool_id = proxmox_virtual_environment_pool.pool.pool_id
  vm_id   = proxmox_virtual_environment_vm.vm.vm_id
}

resource "proxmox_virtual_environment_pool" "pool" { pool_id = "watched" }

data "proxmox_virtual_environment_nodes" "all" {}
data "proxmox_virtual_environment_node" "pve" { node_name = "pve" }
data "proxmox_virtual_environment_pools" "all" {}
data "proxmox_virtual_environment_time" "pve" { node_name = "pve" }
data "proxmox_virtual_environment_dns" "pve" { node_name = "pve" }
data "proxmox_virtual_environment_hosts" "pve" { node_name = "pve" }
data "proxmox_virtual_environment_role" "admin" { role_id = "Administrator" }
data "proxmox_virtual_environment_user" "root" { user_id = "root@pam" }
data "proxmox_version" "this" {}
data "proxmox_datastores" "all" { node_name = "pve" }
data "proxmox_hardware_mappings" "pci" { type = "pci" }
data "proxmox_virtual_environment_vms" "all" { depends_on = [proxmox_virtual_environment_vm.vm] }

data "proxmox_files" "iso" {
  node_name    = "pve"
  datastore_id = "local"
  content_type = "iso"
  depends_on   = [proxmox_virtual_environment_file.iso]
}

output "release" { value = data.proxmox_version.this.release }
output "nodes" { value = data.proxmox_virtual_environment_nodes.all.names }
