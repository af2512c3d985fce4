"""The lab's Git server: bare repositories behind git's own HTTP backend."""

from __future__ import annotations
