"""One small file per check: a look at the world, and a pure judgement of what was seen."""

from __future__ import annotations
