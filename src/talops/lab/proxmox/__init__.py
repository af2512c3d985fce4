"""A Proxmox VE that behaves: the API, the rights, the tasks, the locks and the storages."""

from __future__ import annotations
