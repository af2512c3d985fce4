"""Users of the lab's Proxmox and their privileges."""

from __future__ import annotations
