"""Checks of a running cluster, as run by `talops verify`."""

from __future__ import annotations
