"""What Proxmox' own API schema says of calls, parameters and permissions."""

from __future__ import annotations
