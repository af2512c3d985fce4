"""Which VMs, images and disks that exist belong to a cluster, and what an import lacks. Pure."""

from __future__ import annotations
