"""`talops state`."""

from __future__ import annotations
