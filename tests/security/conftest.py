"""Attackers and victims: a node that answers as a test tells it, and the command line."""

from __future__ import annotations

from tests.statestore.conftest import client, embedded
from tests.talos.conftest import authority, insecure, maintenance, node, talos
from tests.talos.test_cli import config, talops

__all__ = [
    "authority",
    "client",
    "config",
    "embedded",
    "insecure",
    "maintenance",
    "node",
    "talops",
    "talos",
]
