"""A real control plane for the lab: etcd members and API servers, with nodes played on top."""

from __future__ import annotations
