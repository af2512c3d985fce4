"""What connects the lab's Talos nodes: discovery, the control plane, the VIP, Kubernetes."""

from __future__ import annotations
