"""Commands that take a running cluster over."""

from __future__ import annotations
