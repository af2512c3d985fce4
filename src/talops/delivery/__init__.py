"""Deliver charts, manifests and the Git repository to a cluster."""

from __future__ import annotations
