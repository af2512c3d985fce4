"""A real control plane for the lab: etcd members and API servers, with simulated nodes."""

from __future__ import annotations
