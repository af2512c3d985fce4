"""Simulated Flux controllers; real ones need nodes that run containers."""

from __future__ import annotations
