"""etcd is asked before OpenTofu stops a control plane of a site."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.site.founding.record import any_founding
from talops.talos.client import Talos
from talops.talos.membership import Etcd, objection_to_stop, survey
from talops.tofu.plan import CONTROL_PLANE
from talops.tofu.policy import RefusedError
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from pathlib import Path

    from talops.inventory.model import Cluster, Node
    from talops.site.fleet import Fleet
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Limits, Site
    from talops.tofu.judge import Judged
    from talops.tofu.policy import Policy

NONE = Etcd({}, frozenset(), {}, founded=False)


def guard_of(site: Site, secrets: SecretsFile, policy: Policy) -> EtcdGuard:
    async def fleet() -> Fleet | None:
        return await secrets.fleet() if await secrets.read() else None

    allowed = policy.allow_unhealthy_etcd
    return EtcdGuard(site.cluster, site.root, fleet, site.limits, allowed)


async def look_at_etcd(fleet: Fleet, planes: Sequence[Node]) -> Etcd:
    """Each control plane of the inventory is asked over a connection of its own."""
    clients = {node.name: fleet.talos(node) for node in planes}
    try:
        return await survey(clients, lambda at: Talos.connect(at, fleet.credentials))
    finally:
        for talos in clients.values():
            talos.close()


async def require_etcd(
    fleet: Fleet, planes: Sequence[Node], node: Node, allowed: Collection[str] = ()
) -> None:
    """Raise if etcd does not survive a restart of this control plane."""
    if not node.controller or node.name in allowed:
        return
    if reason := objection_to_stop(node.name, await look_at_etcd(fleet, planes)):
        raise ConflictError(
            f"refused to restart {node.name}: {reason}",
            where=str(node.address),
            hint="repair etcd first: talops talos etcd status; or name the control plane: "
            f"--allow-unhealthy-etcd {node.name}",
        )


class EtcdGuard:
    """The `Guard` of an apply. `fleet`: None where the cluster has no secrets."""

    def __init__(
        self,
        cluster: Cluster,
        root: Path,
        fleet: Callable[[], Awaitable[Fleet | None]],
        limits: Limits,
        allowed: Collection[str] = (),
    ) -> None:
        self._planes = cluster.control_planes
        self._names = {node.name for node in cluster.control_planes}
        self._root = root
        self._fleet = fleet
        self._limits = limits
        self._allowed = frozenset(allowed)

    async def sick(self) -> frozenset[str]:
        return (await self._look()).sick

    async def permit(self, steps: Sequence[Sequence[Judged]]) -> None:
        planes = [[change for change in step if self._is_plane(change)] for step in steps]
        if not any(change.stops for step in planes for change in step):
            return
        found = objections(planes, await self._look(), self._allowed)
        if found:
            names = sorted(found)
            raise RefusedError(
                "refused to stop control planes; nothing was changed by this step:\n  "
                + "\n  ".join(f"{name}: {found[name]}" for name in names),
                where="etcd",
                hint="repair etcd first: talops talos etcd status; or name the control plane: "
                f"--allow-unhealthy-etcd {names[0]}",
            )

    def _is_plane(self, change: Judged) -> bool:
        return change.guest and (change.role == CONTROL_PLANE or bool(change.names & self._names))

    async def _look(self) -> Etcd:
        fleet = await self._fleet()
        if fleet is None:
            return NONE
        found = await look_at_etcd(fleet, self._planes)
        if found.members or not found.founded or any_founding(self._root):
            return found
        return await self._patiently(fleet)

    async def _patiently(self, fleet: Fleet) -> Etcd:
        """No control plane answers, and there is no record of an etcd: most likely they
        are VMs of an interrupted run that still boot.
        """
        until = time.monotonic() + self._limits.boot

        async def probe() -> Ready[Etcd] | NotYet:
            found = await look_at_etcd(fleet, self._planes)
            if found.members or not found.founded or time.monotonic() > until:
                return Ready(found)
            return NotYet(found.why(found.unread))

        return await wait_for(
            "an answer of etcd",
            probe,
            timeout=self._limits.boot + self._limits.etcd,
            interval=self._limits.interval,
            hint="talops talos etcd status",
        )


def objections(
    steps: Sequence[Sequence[Judged]], etcd: Etcd, allowed: Collection[str] = ()
) -> dict[str, str]:
    """Node → why it must not stop. After a step its nodes are healthy, unless they lost their data.
    Pure.
    """
    found: dict[str, str] = {}
    healed: set[str] = set()
    lost: set[str] = set()
    for step in steps:
        stopping = [change for change in step if change.stops]
        for change in stopping:
            with_it = {name_of(other) for other in stopping if other is not change}
            reason = objection_to_stop(
                name_of(change),
                etcd,
                for_good=change.loses_data,
                missing=with_it | lost,
                healed=healed,
            )
            if reason and not change.names & {*allowed}:
                found[name_of(change)] = reason
        lost |= {name_of(change) for change in stopping if change.loses_data}
        healed |= {name_of(change) for change in step} - lost
    return found


def name_of(change: Judged) -> str:
    """Its host name in the cluster."""
    return change.node or change.name
