"""The page: what the checks say about clusters, in a browser."""

from __future__ import annotations
