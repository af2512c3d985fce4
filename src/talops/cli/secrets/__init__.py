"""`talops secrets`."""

from __future__ import annotations
