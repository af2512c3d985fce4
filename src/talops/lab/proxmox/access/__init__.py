"""Who may log in to the lab's Proxmox, and what they may do."""

from __future__ import annotations
