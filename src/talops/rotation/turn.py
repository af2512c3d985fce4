"""Bring one node into the phase of the secrets: gates, config, proof, gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from talops.errors import ConflictError
from talops.reconfigure.proof import ClusterProof
from talops.rolls.rolling import Rolling
from talops.rotation.configs import config_for
from talops.rotation.proof import NodeProof
from talops.site.fleet import Configured, Unreachable, named
from talops.talos.calls.machine import ApplyMode
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.inventory.model import Node
    from talops.machineconfig.generate import MachineConfig
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.rotating import Rotated
    from talops.pipeline.stage import Reporter
    from talops.site.site import Site

T = TypeVar("T")
HINT = "the same command again continues the rotation"


class NodeTurns:
    """Of one phase: another phase has other secrets, and so other connections."""

    def __init__(self, site: Site, bundle: Bundle, rotated: Rotated, report: Reporter) -> None:
        self._site = site
        self._bundle = bundle
        self._rotated = rotated
        self._report = report
        self._roller = Rolling(site).roller

    async def bring(self, node: Node) -> None:
        """A node that is in this phase already only proves it."""
        await self._site.fence.check()
        config = await config_for(
            self._site, self._bundle, node, await self._running(node), self._rotated
        )
        fleet = await self._site.secrets.fleet()
        planes = self._site.cluster.control_planes
        cluster = ClusterProof(node, fleet, planes, self._roller.kube)
        proof = NodeProof(node, self._bundle, self._rotated, cluster)

        async def act() -> None:
            await cluster.before()
            if config is not None:
                await self._apply(node, config)
            await self._proven(node, proof)

        await self._roller.change(node, act, self._report)

    async def _running(self, node: Node) -> Configured:
        fleet = await self._site.secrets.fleet()

        async def probe() -> Ready[Configured] | NotYet:
            state = await fleet.look(node)
            if isinstance(state, Configured):
                return Ready(state)
            if isinstance(state, Unreachable):
                return NotYet(state.error.what)
            raise ConflictError(
                f"{node.name} is in maintenance mode: it cannot take part in a rotation",
                where=str(node.address),
                hint="talops up, then run the same command again",
            )

        return await self._wait(f"{node.name} to answer", node, probe, self._site.limits.boot)

    async def _apply(self, node: Node, config: MachineConfig) -> None:
        fleet, text = await self._site.secrets.fleet(), config.to_yaml()

        async def probe() -> Ready[None] | NotYet:
            async with fleet.fresh(node) as talos:
                await talos.machine.apply_configuration(text, mode=ApplyMode.NO_REBOOT)
            return Ready(None)

        with named(node, f"talops talos dmesg --nodes {node.address}"):
            await self._wait(
                f"{node.name} to accept its config", node, probe, self._site.limits.install
            )

    async def _proven(self, node: Node, proof: NodeProof) -> None:
        phase = self._bundle.rotations[self._rotated].phase
        what = f"{node.name} to prove phase {phase} of the {self._rotated}"
        limit = self._site.limits.kubernetes
        await self._wait(what, node, proof.probe, limit)

    async def _wait(
        self, what: str, node: Node, probe: Callable[[], Awaitable[Ready[T] | NotYet]], limit: float
    ) -> T:
        return await wait_for(
            what,
            probe,
            timeout=limit,
            interval=self._site.limits.interval,
            hint=HINT,
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )
