"""Cluster → OpenTofu text. Pure: the same input gives the same bytes on every machine."""

from __future__ import annotations
