"""Stage `apply-config`: apply the machine config of the inventory to every node.

It waits for control planes, and for workers that already ran. A new worker opens its API only when
a control plane signs its certificate. It finds one through the discovery service or the cluster's
endpoint, which may be a VIP that needs etcd. So `bootstrap` runs first, and `workers` waits for it.

Nodes that serve a cluster change one after the other: what needs a reboot in a roll, what could cut
a node off after a trial, with the gates of the roll between them. A failure stops before the next.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.pipeline.stage import Absent, Stage
from talops.reconfigure.changing import Reconfigure
from talops.reconfigure.order import in_batches, planned, require_changeable
from talops.rolls.order import out_of_service
from talops.rolls.rolling import Rolling
from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.site.fleet import Configured, Unreachable, all_answer
from talops.site.node_configs import NodeConfigs
from talops.site.node_facts import (
    ConfigChange,
    Facts,
    require_own_machines,
    require_own_secrets,
    since,
)
from talops.site.protection import Protected

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from talops.inventory.model import Node
    from talops.pipeline.stage import Batch, Reporter, Seen
    from talops.site.fleet import Fleet, State
    from talops.site.node_facts import NodeFacts
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


class ApplyConfig(Stage[Facts, ConfigChange]):
    name = "apply-config"
    independent = True

    def __init__(
        self,
        site: Site,
        secrets: SecretsFile,
        report: Reporter,
        allow_unhealthy_etcd: Collection[str] = (),
        admission: Admission = NOTHING_SAID,
        rolling: Rolling | None = None,
        leaving: Collection[str] = (),
    ) -> None:
        """`leaving`: nodes that leave the cluster before this stage changes anything."""
        self._site = site
        self._secrets = secrets
        self._rolling = rolling or Rolling(site)
        self._leaving = frozenset(leaving)
        self._configs = NodeConfigs(site, secrets, report, allow_unhealthy_etcd, admission)
        self._reconfigure = Reconfigure(site, secrets, self._configs, self._rolling, report)
        # A node that does not answer may be rebooting.
        self.patience = site.limits.boot

    async def observe(self) -> Facts | Absent:
        if await self._secrets.read() is None:
            return Absent("configure", "the cluster has no secrets yet")
        fleet = await self._configs.fleet()
        states = await fleet.look_at_all(self._site.chosen)
        excused = await self._excused(fleet, states)
        nodes = [node for node in self._site.chosen if node.name not in excused]
        all_answer(nodes, states)
        return await self._reconfigure.placed(Facts(await self._configs.facts(nodes, states)))

    def plan(self, facts: Facts) -> list[ConfigChange]:
        require_own_machines(self._site.chosen, facts.nodes, self._site.cluster)
        require_own_secrets(facts.nodes)
        return [self._rolled(change) for change in planned(facts)]

    def _rolled(self, change: ConfigChange) -> ConfigChange:
        """What a restart of a node in service means for its pods and for etcd."""
        if change.target in self._leaving and change.fixed:
            return replace(change, leaves=True, detail="when it joins again")
        if not (change.serves and change.reboots):
            return change
        cluster = self._site.cluster
        drains, members = out_of_service(cluster, change.target)
        return replace(change, drains=drains, members=members)

    def batches(self, changes: Sequence[ConfigChange], at_most: int) -> list[Batch]:
        require_changeable(changes)
        return in_batches(changes, self._site.cluster, self._rolling.options, at_most)

    async def apply(self, change: ConfigChange) -> None:
        if change.serves:
            await self._reconfigure.apply(change)
        else:
            await self._configs.bring(change)

    async def verify(self, seen: Seen[Facts, ConfigChange], /) -> None:
        """All nodes except new workers: `workers` waits for those."""
        untouched = since(seen.applied, seen.facts.nodes)
        left = [
            n
            for n in self._awaited(seen.facts)
            if not self._configs.settled(n, untouched.get(n.name))
        ]
        await asyncio.gather(*(self._configs.wait(node) for node in left))

    async def conclude(self, seen: Seen[Facts, ConfigChange], /) -> None:
        await self._configs.keep(self._awaited(seen.facts))
        await Protected(self._site).keep()

    def _awaited(self, facts: Facts) -> list[Node]:
        return [n for n in self._site.chosen if n.controller or ran(facts.nodes.get(n.name))]

    async def _excused(self, fleet: Fleet, states: Mapping[str, State]) -> set[str]:
        """Workers that do not answer before etcd exists: they may have a config and wait for it."""
        silent = {node.name for node in self._site.chosen if _silent_worker(node, states)}
        if not silent or await fleet.has_etcd(self._site.cluster.control_planes):
            return set()
        return silent


def ran(seen: NodeFacts | None) -> bool:
    return seen is not None and isinstance(seen.state, Configured)


def _silent_worker(node: Node, states: Mapping[str, State]) -> bool:
    return not node.controller and isinstance(states[node.name], Unreachable)
