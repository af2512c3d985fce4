"""The texts of the patch files that an inventory names; encrypted ones are decrypted in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.secrets.sops import Sops

_SEALED = (".sops.yaml", ".sops.yml")


async def patch_reader(cluster: Cluster, root: Path, sops: Sops) -> Callable[[str], str]:
    """Reads a file by its name; what is encrypted was decrypted before the first call."""
    sealed = sealed_patches(cluster)
    texts = await asyncio.gather(*(sops.decrypt(root / name) for name in sealed))
    known = dict(zip(sealed, texts, strict=True))

    def read(name: str) -> str:
        return known[name] if name in known else (root / name).read_text(encoding="utf-8")

    return read


def sealed_patches(cluster: Cluster) -> list[str]:
    """The patch files that are encrypted, by their names."""
    given = [*cluster.patches, *cluster.controller_patches, *cluster.worker_patches]
    own = [patch for node in cluster.nodes for patch in node.patches]
    named = {patch for patch in [*given, *own] if isinstance(patch, str)}
    return sorted(name for name in named if name.endswith(_SEALED))
