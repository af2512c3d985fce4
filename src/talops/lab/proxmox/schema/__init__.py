"""The API schema of Proxmox: calls, parameters and permissions."""

from __future__ import annotations
