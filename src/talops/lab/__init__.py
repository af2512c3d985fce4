"""The embedded lab: simulators of Proxmox, Talos nodes and the Image Factory."""

from __future__ import annotations
