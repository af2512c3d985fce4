"""The objects and files installed before Flux takes over, as plain data; pure."""

from __future__ import annotations
