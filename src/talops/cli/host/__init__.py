"""`talops host` and `talops template`."""

from __future__ import annotations
