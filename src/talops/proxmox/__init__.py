"""Proxmox VE over its API: what a host offers, may do and lacks. VMs themselves belong to tofu."""
