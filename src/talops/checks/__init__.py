"""One file per check: `look` reads the actual state, `judge` decides and is pure."""

from __future__ import annotations
