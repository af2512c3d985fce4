"""`talops tools`."""

from __future__ import annotations
