"""Flux' controllers, played: they cannot run without nodes that run containers."""

from __future__ import annotations
