"""Simulated Talos nodes without Linux: their API, from maintenance mode to Ready."""

from __future__ import annotations
