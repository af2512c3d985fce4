"""When a node is back: a new boot, ready, healthy in etcd, and with what the turn wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.kube.conditions import condition
from talops.site.etcd_guard import look_at_etcd
from talops.site.fleet import Configured, Unreachable
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.rolls.kube_access import KubeAccess
    from talops.rolls.turn import Turn
    from talops.site.fleet import Fleet
    from talops.site.site import Site
    from talops.waiting import Waiting


class Returning:
    """`before`: the boot id that must not be the current one any more; empty if any may be."""

    def __init__(
        self, turn: Turn, name: str, before: str, site: Site, fleet: Fleet, kube: KubeAccess
    ) -> None:
        self._turn = turn
        self._name = name
        self._before = before
        self._site = site
        self._fleet = fleet
        self._kube = kube

    async def wait(self, report: Callable[[Waiting], None]) -> None:
        node = self._turn.node
        await wait_for(
            f"{node.name} to be ready again",
            self._probe,
            timeout=self._site.limits.install,
            interval=self._site.limits.interval,
            report=report,
            hint=f"check the console of {node.name}, or: talops talos dmesg --nodes {node.address};"
            " then: talops up",
        )

    async def _probe(self) -> Ready[None] | NotYet:
        for look in (self._talos, self._wanted, self._etcd, self._kubernetes):
            if reason := await look():
                return NotYet(reason)
        return Ready(None)

    async def _talos(self) -> str:
        state = await self._fleet.look(self._turn.node)
        if isinstance(state, Unreachable):
            return state.error.what
        if not isinstance(state, Configured):
            return "in maintenance mode: it has lost its config"
        if self._before:
            async with self._fleet.talos(self._turn.node) as talos:
                if await talos.files.boot_id() == self._before:
                    return "it has not rebooted yet"
        status = state.status
        if status is None or status.stage != "running":
            return status.stage if status else "its stage is not known yet"
        return "" if status.ready else f"not ready: {status.reasons}"

    async def _wanted(self) -> str:
        return await self._turn.arrived() if self._turn.arrived else ""

    async def _etcd(self) -> str:
        node = self._turn.node
        if not node.controller:
            return ""
        found = await look_at_etcd(self._fleet, self._site.cluster.control_planes)
        if node.name in found.members and node.name not in found.healthy:
            return f"its etcd member is not healthy: {found.why([node.name])}"
        return ""

    async def _kubernetes(self) -> str:
        seen = (await self._kube.nodes()).get(self._name)
        if seen is None:
            return f"Kubernetes has no Node {self._name} yet"
        reason = condition(seen, "Ready")
        return f"Node not Ready: {reason}" if reason else ""
