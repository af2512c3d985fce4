"""The TrueNAS of an inventory: how to reach it, and which datasets it should have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.truenas.access import Access
from talops.truenas.datasets import Wanted

if TYPE_CHECKING:
    from talops.inventory.model import TrueNas
    from talops.site.site import Site

CREDENTIAL = "truenas_api_key"


def access(site: Site, nas: TrueNas) -> Access:
    key = site.credentials.get(CREDENTIAL)
    if not key:
        raise TalopsError(
            "there is no API key for TrueNAS",
            where=nas.url,
            hint=f"talops secrets set {CREDENTIAL}",
        )
    return Access(
        nas.url,
        key,
        username=nas.username,
        insecure=nas.insecure,
        ca_file=str(site.root / nas.ca_file) if nas.ca_file else None,
    )


def wanted(nas: TrueNas) -> list[Wanted]:
    """Parents before children, including parents that the inventory does not list."""
    found: dict[str, Wanted] = {}
    for dataset in sorted(nas.datasets, key=lambda d: d.name.count("/")):
        for above in _between(nas.pool, dataset.name):
            found.setdefault(above, Wanted(above))
        found[dataset.name] = Wanted(dataset.name, dataset.quota, dataset.properties)
    return sorted(found.values(), key=lambda each: each.name.count("/"))


def _between(pool: str, name: str) -> list[str]:
    parts = name.removeprefix(f"{pool}/").split("/")
    return [f"{pool}/{'/'.join(parts[:count])}" for count in range(1, len(parts))]


def position(site: Site, name: str, key: str) -> str:
    """file:line of a dataset's key, or of the section if the dataset is not listed."""
    nas = site.cluster.truenas
    assert nas
    for index, dataset in enumerate(nas.datasets):
        if dataset.name == name:
            return str(site.cluster.at.cluster_value("truenas", "datasets", index, key))
    return str(site.cluster.at.cluster_key("truenas"))
