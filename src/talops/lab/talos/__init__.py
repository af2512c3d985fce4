"""Talos nodes without Linux: what a machine answers on its API, from maintenance to Ready."""

from __future__ import annotations
