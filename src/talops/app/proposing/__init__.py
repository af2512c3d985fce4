"""Propose an inventory from what a Proxmox host has."""

from __future__ import annotations
