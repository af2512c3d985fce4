"""Stages and the runner: observe, plan, apply, verify. Does not know any specific stage."""

from __future__ import annotations
