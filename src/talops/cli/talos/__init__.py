"""`talops talos`."""

from __future__ import annotations
