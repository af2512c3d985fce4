"""The documents that a machine config consists of."""

from __future__ import annotations
