"""What every face needs: looks at a cluster (drift, analysis) and what it hands out (support)."""

from __future__ import annotations
