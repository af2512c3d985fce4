# What a cluster's own credentials are made of.
variable "step" { type = number }

resource "proxmox_virtual_environment_role" "talos" {
  role_id    = "Talos"
  privileges = var.step == 1 ? ["VM.Audit", "VM.Allocate"] : ["VM.Audit", "VM.Allocate", "VM.Clone"]
}

resource "proxmox_virtual_environment_group" "ops" {
  group_id = "ops"
  comment  = "step ${var.step}"
}

resource "proxmox_virtual_environment_user" "talos" {
  user_id  = "talos@pve"
  comment  = "step ${var.step}"
  enabled  = true
  password = "not-so-secret"
  groups   = [proxmox_virtual_environment_group.ops.group_id]
}

resource "proxmox_user_token" "talos" {
  user_id               = proxmox_virtual_environment_user.talos.user_id
  token_name            = "tofu"
  comment               = "step ${var.step}"
  privileges_separation = true
}

resource "proxmox_acl" "user" {
  path      = "/vms"
  role_id   = proxmox_virtual_environment_role.talos.role_id
  user_id   = proxmox_virtual_environment_user.talos.user_id
  propagate = true
}

resource "proxmox_acl" "token" {
  path      = var.step == 1 ? "/vms" : "/vms/100"
  role_id   = proxmox_virtual_environment_role.talos.role_id
  token_id  = proxmox_user_token.talos.id
  propagate = true
}

data "proxmox_virtual_environment_roles" "all" {}
data "proxmox_virtual_environment_users" "all" {}
data "proxmox_virtual_environment_groups" "all" {}
data "proxmox_version" "this" {}
