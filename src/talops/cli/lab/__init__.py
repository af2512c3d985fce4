"""`talops lab`."""

from __future__ import annotations
