"""Pools and datasets of a TrueNAS: JSON-RPC over WebSocket, or REST where that is all there is."""

from __future__ import annotations
