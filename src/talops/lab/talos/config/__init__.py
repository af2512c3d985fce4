"""A machine config as a lab node reads, checks and compares it."""

from __future__ import annotations
