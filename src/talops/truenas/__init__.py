"""Pools and datasets of a TrueNAS: JSON-RPC over WebSocket, or REST on older versions."""

from __future__ import annotations
