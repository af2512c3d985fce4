"""Checks of a running cluster: what `talops verify` looks at."""

from __future__ import annotations
