"""Attackers and victims: a node that answers as a test tells it, and the command line."""

from __future__ import annotations

from tests.talos.conftest import authority, insecure, maintenance, node, talos
from tests.talos.test_cli import config, talops

__all__ = ["authority", "config", "insecure", "maintenance", "node", "talops", "talos"]
