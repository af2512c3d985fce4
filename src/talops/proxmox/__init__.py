"""Proxmox VE over its API: what a host offers, allows and lacks. OpenTofu manages the VMs."""
