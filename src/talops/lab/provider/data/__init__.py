"""One file per family of data sources."""

from __future__ import annotations
