"""The commands that only read: check, preflight, verify, drift, analyze, runs, support."""

from __future__ import annotations
