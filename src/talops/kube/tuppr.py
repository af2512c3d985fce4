"""Objects of tuppr, which upgrades a cluster from inside.

https://github.com/home-operations/tuppr, group tuppr.home-operations.com.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.discovery import UnknownKindError

if TYPE_CHECKING:
    from talops.kube.client import KubeClient
    from talops.kube.objects import Object

VERSION = "tuppr.home-operations.com/v1alpha1"
# What the objects of a kind upgrade.
KINDS = {"Talos": "TalosUpgrade", "Kubernetes": "KubernetesUpgrade"}


async def upgrades(kube: KubeClient) -> dict[str, list[Object]]:
    """By what they upgrade. Nothing for a kind that is not installed, which is not the same as an
    empty list.
    """
    found = {}
    for part, kind in KINDS.items():
        try:
            found[part] = await kube.list_all(VERSION, kind)
        except UnknownKindError:
            continue
    return found


async def managed(kube: KubeClient) -> frozenset[str]:
    """What an object of tuppr upgrades; its definitions alone upgrade nothing."""
    return frozenset(part for part, listed in (await upgrades(kube)).items() if listed)


def progress_of(part: str) -> str:
    """The command that shows what tuppr does."""
    return f"kubectl get {KINDS[part].lower()}s"
