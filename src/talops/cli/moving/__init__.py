"""Commands to move in from other tools, and out again: import, export, adopt."""

from __future__ import annotations
