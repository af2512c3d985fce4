"""The patches of an inventory for commands that need no site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.site import patch_texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.app.opening import Keys
    from talops.inventory.model import Cluster


def any_encrypted(cluster: Cluster) -> bool:
    """Without an encrypted patch, no key is needed."""
    return bool(patch_texts.sealed_patches(cluster))


async def patch_reader(cluster: Cluster, root: Path, keys: Keys) -> Callable[[str], str]:
    return await patch_texts.patch_reader(cluster, root, keys.sops)
