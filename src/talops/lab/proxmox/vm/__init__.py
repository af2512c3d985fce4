"""Virtual machines of the lab's Proxmox."""

from __future__ import annotations
