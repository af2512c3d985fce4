"""One observer per site: it looks at intervals, and never twice at the same time."""

from __future__ import annotations
