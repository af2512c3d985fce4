"""Compare all layers in parallel; each reports its differences, or why it could not be read."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.app.drift import files, kubernetes, proxmox, storage, talos
from talops.app.drift.model import LAYERS, UPGRADES, looked, masked
from talops.app.status.record import write_comparison
from talops.errors import TalopsError
from talops.kube.tuppr import managed, progress_of
from talops.pipeline.lock import Holder, local_lock
from talops.pipeline.stage import Reporter
from talops.site.connections import Connections
from talops.site.state.own_name import claim
from talops.stages.addons import Addons
from talops.stages.configure import Configure
from talops.stages.gitops import GitOps
from talops.stages.provision import Provision

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from talops.app.drift.model import AreaDrift, Difference
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


async def look(site: Site, wanted: Sequence[str] = LAYERS) -> list[AreaDrift]:
    """Under the run lock: a plan during a running `up` compares with what is being changed."""
    holder = Holder.myself("drift", "drift", site.root)
    with local_lock(site.root / ".talops" / "lock", holder):
        found = masked(await _look(site, wanted), site.redact)
    if tuple(wanted) == LAYERS and not any(each.unread for each in found):
        write_comparison(site.root, differs=any(each.differences for each in found))
    return found


async def _look(site: Site, wanted: Sequence[str]) -> list[AreaDrift]:
    await claim(site, lambda _: None)
    secrets, report = site.secrets, Reporter("drift", lambda _: None)
    inside: list[AnyStage] = [Addons(site, report), GitOps(site, site.redact.learn, report)]
    every: dict[str, Callable[[], Awaitable[AreaDrift]]] = {
        "files": lambda: files.look(Configure(site, secrets, report)),
        "proxmox": lambda: proxmox.look(site, Provision(site, secrets, report)),
        "storage": lambda: storage.look(site, report),
        "talos": lambda: talos.look(site, secrets, report),
        "kubernetes": lambda: kubernetes.look(Connections(site, secrets), inside),
    }
    if site.cluster.truenas is None and tuple(wanted) == LAYERS:
        wanted = [name for name in wanted if name != storage.LAYER]
    # Read once before all layers ask for it at the same time.
    await secrets.read()
    found = list(await asyncio.gather(*(looked(name, every[name]) for name in wanted)))
    if any(d.impact == UPGRADES for area in found for d in area.differences):
        left = await left_to_tuppr(Connections(site, secrets))
        return [by_tuppr(area, left) for area in found]
    return found


async def left_to_tuppr(connections: Connections) -> frozenset[str]:
    """What tuppr upgrades, as far as Kubernetes answers."""
    try:
        async with connections.kube() as kube:
            return await managed(kube)
    except TalopsError:
        return frozenset()


def by_tuppr(area: AreaDrift, left: Collection[str]) -> AreaDrift:
    """Versions that tuppr upgrades are differences still, but `up` does not make them."""
    return replace(area, differences=tuple(_by_tuppr(each, left) for each in area.differences))


def _by_tuppr(difference: Difference, left: Collection[str]) -> Difference:
    part = "Talos" if difference.attribute == "Talos" else "Kubernetes"
    upgrades = difference.impact == UPGRADES and difference.attribute != "schematic"
    if not upgrades or part not in left:
        return difference
    return replace(difference, command=progress_of(part))
