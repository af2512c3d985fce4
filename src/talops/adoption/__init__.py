"""Decide which existing VMs, images and disks belong to a cluster. Pure."""

from __future__ import annotations
