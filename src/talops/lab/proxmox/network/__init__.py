"""The network interfaces of a node of the lab's Proxmox."""

from __future__ import annotations
