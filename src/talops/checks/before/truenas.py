"""TrueNAS answers, accepts the API key, and has a pool with enough space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, passed, skipped, warning
from talops.site import nas
from talops.site.site import Site
from talops.truenas.client import TrueNas
from talops.truenas.datasets import GIB, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.inventory import model
    from talops.pipeline.checks import Finding
    from talops.site.site import ClosedSite
    from talops.truenas.datasets import Dataset, Pool

# With less space than this, a pool is practically full.
LEAST = GIB


async def look(site: ClosedSite) -> list[Finding]:
    wanted = site.cluster.truenas
    if wanted is None:
        return [skipped("the inventory has no section truenas")]
    if not isinstance(site, Site):
        return [skipped("not checked: the API key cannot be opened")]
    async with TrueNas(nas.access(site, wanted)) as client:
        pools = await client.pools()
        root = await client.dataset(wanted.pool) if wanted.pool in pools else None
        found = {each.name: await client.dataset(each.name) for each in wanted.datasets}
        await client.prove_rights(wanted.pool)
    return judge(wanted, pools, root, found)


def judge(
    wanted: model.TrueNas,
    pools: Mapping[str, Pool],
    root: Dataset | None,
    datasets: Mapping[str, Dataset | None],
) -> list[Finding]:
    pool = pools.get(wanted.pool)
    if pool is None or root is None:
        there = ", ".join(pools) or "none"
        hint = "correct truenas.pool in cluster.yaml, or import the pool in TrueNAS"
        return [
            failed(f"pool {wanted.pool} does not exist; existing pools: {there}", wanted.url, hint)
        ]
    room = _room(wanted, root) or _promises(wanted, root, datasets)
    found = [*room, *_health(wanted, pool)]
    left = f"pool {pool.name} has {size(root.available)} free"
    return found or [passed(f"TrueNAS answers, the key can write, {left}", wanted.url)]


def _room(wanted: model.TrueNas, root: Dataset) -> Sequence[Finding]:
    if root.available >= LEAST:
        return []
    what = f"pool {wanted.pool} is full: {size(root.available)} free"
    return [failed(what, wanted.url, "free space or add disks in TrueNAS")]


def _health(wanted: model.TrueNas, pool: Pool) -> Sequence[Finding]:
    if pool.status not in {"ONLINE", "DEGRADED"}:
        return [failed(f"pool {pool.name} is {pool.status}", wanted.url, "repair it in TrueNAS")]
    if not pool.healthy:
        hint = "check the pool in TrueNAS; it works, but without redundancy"
        return [warning(f"pool {pool.name} is {pool.status}", wanted.url, hint)]
    return []


def _promises(
    wanted: model.TrueNas, root: Dataset, datasets: Mapping[str, Dataset | None]
) -> Sequence[Finding]:
    """A quota is not a reservation: quotas may exceed the free space of the pool."""
    names = {each.name for each in wanted.datasets if each.quota}
    outer = [each for each in wanted.datasets if not _inside(each.name, names)]
    free = 0
    for each in outer:
        live = datasets.get(each.name)
        free += max(0, (each.quota or 0) - (live.used if live else 0))
    if free <= root.available:
        return []
    what = (
        f"quotas allow {size(free)} more, but pool {wanted.pool} has only {size(root.available)} "
        "free"
    )
    return [warning(what, wanted.url, "lower the quotas in cluster.yaml, or add disks in time")]


def _inside(name: str, others: set[str]) -> bool:
    return any(name.startswith(f"{other}/") for other in others)
