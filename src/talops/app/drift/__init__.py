"""Drift: what is, beside what the inventory says, layer by layer."""

from __future__ import annotations
