"""talops: two inventory files to a verified Talos Kubernetes cluster on Proxmox VE, and back."""

from __future__ import annotations

__version__ = "0.1.0"
