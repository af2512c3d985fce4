"""Checks before a run changes anything, as run by `talops preflight`."""

from __future__ import annotations
