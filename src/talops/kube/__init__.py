"""A small Kubernetes client: read, server-side apply, wait with reasons, drain."""

from __future__ import annotations
