"""A simulated Proxmox VE: API, privileges, tasks, locks and storages."""

from __future__ import annotations
