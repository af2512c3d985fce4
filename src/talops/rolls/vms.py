"""VMs that OpenTofu stops: nodes of a running cluster are emptied before, and returned after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.rolls.order import groups
from talops.rolls.turn import Turn
from talops.site.etcd_guard import look_at_etcd
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.rolls.rolling import Rolling
    from talops.talos.membership import Etcd
    from talops.tofu.apply_options import Healthy
    from talops.tofu.ordering import Batch

REASON = "restart of its VM"


class VmRoll:
    """The `Roll` of an apply. `healthy` waits for VMs whose nodes are not in service."""

    def __init__(self, rolling: Rolling, healthy: Healthy, report: Reporter) -> None:
        self._site = rolling.site
        self._secrets = rolling.site.secrets
        self._rolling = rolling
        self._healthy = healthy
        self._report = report

    @property
    def width(self) -> int:
        return self._rolling.roller.width

    async def ranks(self, names: Sequence[str]) -> Mapping[str, int]:
        """What was begun, then the sick ones; the leader of etcd last of the control planes."""
        nodes = [node for node in self._site.cluster.nodes if node.name in names]
        if not nodes or await self._secrets.read() is None:
            return {}
        roller = self._rolling.roller
        try:
            found = await roller.candidates(nodes)
        except TalopsError:  # without Kubernetes, `carry` decides what may happen
            return {}
        roller.expect_sick(candidate.name for candidate in found if candidate.sick)
        order = groups(
            found, len(self._site.cluster.workers), self._rolling.options.max_unavailable
        )
        return {name: place for place, name in enumerate(n for group in order for n in group.names)}

    async def carry(self, batch: Batch, act: Callable[[], Awaitable[None]]) -> None:
        serving = [] if batch.off else await self._serving(batch)
        if not serving:
            await act()
            await self._healthy(batch)
            return
        turns = [
            Turn(node, REASON, restarts=False, reboots=node.name in batch.grown) for node in serving
        ]
        await self._rolling.roller.together(turns, act, self._report)

    async def _serving(self, batch: Batch) -> list[Node]:
        """The nodes that Kubernetes knows: the others run no pods and are not members of etcd."""
        nodes = [n for n in self._site.cluster.nodes if n.name in {*batch.names, *batch.nodes}]
        if not nodes or await self._secrets.read() is None:
            return []
        etcd = await look_at_etcd(await self._secrets.fleet(), self._site.cluster.control_planes)
        if not etcd.founded:
            return []
        known = await self._known(self._repairs(nodes, etcd))
        return [node for node in nodes if node.name in known]

    def _repairs(self, nodes: Sequence[Node], etcd: Etcd) -> bool:
        """Without these control planes, Kubernetes may not answer, and nothing can be moved."""
        alone = len(self._site.cluster.control_planes) == 1
        return all(node.controller and (alone or node.name in etcd.sick) for node in nodes)

    async def _known(self, repairs: bool) -> set[str]:
        if repairs:
            try:
                return set(await self._rolling.roller.kube.nodes())
            except TalopsError as error:
                self._report.note(f"Kubernetes does not answer, so no node is drained: {error}")
                return set()

        async def probe() -> Ready[set[str]] | NotYet:
            return Ready(set(await self._rolling.roller.kube.nodes()))

        return await wait_for(
            "Kubernetes to answer, so that nodes can be drained",
            probe,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            report=self._report.waiting,
            hint="talops talos health",
        )
