"""`talops import`."""

from __future__ import annotations
