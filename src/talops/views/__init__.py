"""Show events as text for people, lines for logs, and JSON for programs."""

from __future__ import annotations
