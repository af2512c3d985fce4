"""The lab's release mirror: small charts and manifests in the shape of the real ones."""

from __future__ import annotations
