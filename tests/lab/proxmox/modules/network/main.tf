# A bridge and VLANs of a host.
variable "step" { type = number }

resource "proxmox_network_linux_bridge" "vmbr9" {
  node_name  = "pve"
  name       = "vmbr9"
  address    = var.step == 1 ? "10.9.0.1/24" : "10.9.1.1/24"
  comment    = "step ${var.step}"
  autostart  = true
  vlan_aware = true
  mtu        = 1500 + 100 * (var.step - 1)
}

resource "proxmox_network_linux_vlan" "dotted" {
  node_name = "pve"
  name      = "eno1.20"
  comment   = "step ${var.step}"
}

resource "proxmox_network_linux_vlan" "named" {
  node_name = "pve"
  name      = "storage"
  interface = "eno1"
  vlan      = 30
  address   = "10.30.0.1/24"
}
