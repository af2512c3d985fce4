"""The TrueNAS answers, lets the key in, and has a pool with room for what is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, passed, skipped, warning
from talops.site import nas
from talops.truenas.client import TrueNas
from talops.truenas.datasets import GIB, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.checks.before.basis import Ground
    from talops.inventory import model
    from talops.pipeline.checks import Finding
    from talops.truenas.datasets import Dataset, Pool

# With less than this left a pool is full in all but name.
LEAST = GIB


async def look(ground: Ground) -> list[Finding]:
    wanted = ground.cluster.truenas
    if wanted is None:
        return [skipped("the inventory names no TrueNAS")]
    if ground.site is None:
        return [skipped("its API key cannot be opened")]
    async with TrueNas(nas.access(ground.site, wanted)) as client:
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
        there = ", ".join(pools) or "none at all"
        hint = "correct truenas.pool in cluster.yaml, or import the pool in TrueNAS"
        return [failed(f"no pool {wanted.pool}; there is {there}", wanted.url, hint)]
    room = _room(wanted, root) or _promises(wanted, root, datasets)
    found = [*room, *_health(wanted, pool)]
    left = f"pool {pool.name} has {size(root.available)} left"
    return found or [passed(f"answers, the key may write, {left}", wanted.url)]


def _room(wanted: model.TrueNas, root: Dataset) -> Sequence[Finding]:
    if root.available >= LEAST:
        return []
    what = f"pool {wanted.pool} is full: {size(root.available)} left"
    return [failed(what, wanted.url, "free space or add disks in TrueNAS")]


def _health(wanted: model.TrueNas, pool: Pool) -> Sequence[Finding]:
    if pool.status not in {"ONLINE", "DEGRADED"}:
        return [failed(f"pool {pool.name} is {pool.status}", wanted.url, "repair it in TrueNAS")]
    if not pool.healthy:
        hint = "look at the pool in TrueNAS; it works, but is not safe"
        return [warning(f"pool {pool.name} is {pool.status}", wanted.url, hint)]
    return []


def _promises(
    wanted: model.TrueNas, root: Dataset, datasets: Mapping[str, Dataset | None]
) -> Sequence[Finding]:
    """A quota is no reservation: more may be promised than there is, which is worth knowing."""
    names = {each.name for each in wanted.datasets if each.quota}
    outer = [each for each in wanted.datasets if not _inside(each.name, names)]
    free = 0
    for each in outer:
        live = datasets.get(each.name)
        free += max(0, (each.quota or 0) - (live.used if live else 0))
    if free <= root.available:
        return []
    what = f"quotas allow {size(free)} more, and pool {wanted.pool} has {size(root.available)} left"
    return [warning(what, wanted.url, "lower the quotas in cluster.yaml, or add disks in time")]


def _inside(name: str, others: set[str]) -> bool:
    return any(name.startswith(f"{other}/") for other in others)
