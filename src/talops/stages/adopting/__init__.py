"""Stages of `talops adopt`: existing objects and a running cluster become talops' own."""

from __future__ import annotations
