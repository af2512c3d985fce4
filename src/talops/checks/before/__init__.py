"""Checks before a run changes anything: what `talops preflight` looks at."""

from __future__ import annotations
