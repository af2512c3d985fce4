"""How charts, manifests and the repository of a cluster reach it."""

from __future__ import annotations
