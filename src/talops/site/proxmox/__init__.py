"""The Proxmox hosts of a site: what they must have, and which VMs and images they have."""
