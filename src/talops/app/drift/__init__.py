"""Drift: the actual state compared with the inventory, layer by layer."""

from __future__ import annotations
