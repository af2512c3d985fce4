"""Paths of a cluster's secrets and configs below the inventory directory."""

from __future__ import annotations

SEALED = "talos/talsecret.sops.yaml"
PLAIN = "talos/talsecret.yaml"  # mode 0600, ignored by git
CONFIGS = "talos/clusterconfig"
TALOSCONFIG = f"{CONFIGS}/talosconfig"
