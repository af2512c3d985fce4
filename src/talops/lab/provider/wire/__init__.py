"""The messages of the provider plugin protocol, version 6."""

from __future__ import annotations
