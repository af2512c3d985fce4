"""Storages of the lab's Proxmox and the volumes on them."""

from __future__ import annotations
