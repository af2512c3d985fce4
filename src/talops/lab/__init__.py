"""The embedded world: a Proxmox, Talos nodes and an Image Factory that behave like real ones."""

from __future__ import annotations
