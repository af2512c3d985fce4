"""`talops import` and `talops export`."""

from __future__ import annotations
