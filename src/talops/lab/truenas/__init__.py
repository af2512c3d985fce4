"""A TrueNAS: pools, datasets and API keys, by JSON-RPC over WebSocket and by REST."""

from __future__ import annotations
