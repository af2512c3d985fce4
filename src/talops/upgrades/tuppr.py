"""tuppr in the cluster: what its objects upgrade is left to it.

https://github.com/home-operations/tuppr, group tuppr.home-operations.com.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.discovery import UnknownKindError
from talops.upgrades.path import Part

if TYPE_CHECKING:
    from talops.rolls.kube_access import KubeAccess

VERSION = "tuppr.home-operations.com/v1alpha1"
KINDS = {Part.TALOS: "TalosUpgrade", Part.KUBERNETES: "KubernetesUpgrade"}


async def managed(access: KubeAccess) -> frozenset[Part]:
    """What an object of tuppr upgrades; its definitions alone upgrade nothing."""
    found = set()
    async with access.open() as kube:
        for part, kind in KINDS.items():
            try:
                if await kube.list_all(VERSION, kind):
                    found.add(part)
            except UnknownKindError:
                continue  # it is not installed
    return frozenset(found)
