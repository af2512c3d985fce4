"""What is put into a cluster before Flux takes over, as plain objects and files; pure."""

from __future__ import annotations
