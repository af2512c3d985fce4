"""Stages and how they are run: observe, plan, apply, verify. Knows no stage in particular."""

from __future__ import annotations
