"""What runs where, as far as it answers: nodes, members of etcd, hosts and storages."""

from __future__ import annotations
