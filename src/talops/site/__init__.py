"""One cluster's directory, opened: inventory, credentials, secrets, nodes, OpenTofu layers."""

from __future__ import annotations
