# Storages of the kinds that a home lab has.
variable "step" { type = number }

resource "proxmox_storage_directory" "dir" {
  id      = "extra"
  path    = "/srv/extra"
  nodes   = ["pve"]
  content = var.step == 1 ? ["iso", "import"] : ["iso", "import", "snippets"]
}

resource "proxmox_storage_lvmthin" "thin" {
  id        = "thin"
  volume_group = "pve2"
  thin_pool = "data"
  nodes     = ["pve"]
  content   = ["images", "rootdir"]
}

resource "proxmox_storage_zfspool" "zfs" {
  id             = "tank"
  zfs_pool       = "tank/vm"
  nodes          = ["pve"]
  content        = ["images"]
  thin_provision = true
}

resource "proxmox_storage_nfs" "nfs" {
  id      = "nas"
  server  = "127.79.0.9"
  export  = "/mnt/tank/pve"
  nodes   = ["pve"]
  content = ["iso", "import"]
}

data "proxmox_datastores" "all" {
  node_name  = "pve"
  depends_on = [proxmox_storage_nfs.nfs]
}
