"""cluster.yaml + nodes.yaml → one frozen Cluster, or every problem at once."""

from __future__ import annotations
