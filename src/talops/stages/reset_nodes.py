"""Stage `reset`: nodes leave the cluster and are wiped, as long as they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import UnreachableError
from talops.pipeline.stage import Absent, Change
from talops.stages.fleet import Configured, Fleet, Silent, Waiting
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.stages.bundle import SecretsFile
    from talops.stages.fleet import State
    from talops.stages.site import Site


@dataclass(frozen=True)
class Facts:
    states: dict[str, State]


class ResetNodes:
    """Workers first, then control planes; the last of them cannot leave an etcd of its own."""

    name = "reset"
    independent = False

    def __init__(
        self, site: Site, secrets: SecretsFile, report: Reporter, *, force: bool = False
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._force = force

    async def observe(self) -> Facts | Absent:
        bundle = await self._secrets.read()
        if bundle is None:
            return Facts({})
        self._fleet = Fleet(bundle)
        return Facts(await self._fleet.look_at_all(self._site.chosen))

    def plan(self, facts: Facts) -> list[Change]:
        """A node that does not answer has nothing to leave with; its VM goes all the same."""
        answering = [
            node
            for node in self._site.chosen
            if isinstance(facts.states.get(node.name), Configured)
        ]
        workers = [node for node in answering if not node.controller]
        planes = [node for node in answering if node.controller]
        changes = [Change("reset", node.name, "drain and wipe", node.name) for node in workers]
        whole = len(planes) == len(self._site.cluster.control_planes)
        for place, node in enumerate(planes):
            last = whole and place == len(planes) - 1
            detail = "wipe; the last etcd member" if last else "leave etcd and wipe"
            changes.append(Change("reset", node.name, detail, node.name))
        return [] if self._force else changes

    async def apply(self, change: Change) -> None:
        node = next(n for n in self._site.cluster.nodes if n.name == change.node)
        graceful = "last etcd member" not in change.detail
        async with self._fleet.talos(node) as talos:
            try:
                await talos.machine.reset(graceful=graceful, reboot=True)
            except UnreachableError as error:
                self._report.note(f"{node.name} went silent during its reset: {error.what}")
        await self._gone(node)

    async def verify(self) -> None:
        """Whatever is left goes with the VM."""

    async def _gone(self, node: Node) -> None:
        async def probe() -> Ready[None] | NotYet:
            state = await self._fleet.look(node)
            if isinstance(state, Waiting):
                return Ready(None)
            if isinstance(state, Silent):
                return NotYet(f"rebooting: {state.error.what}")
            return NotYet(state.status.stage if state.status else "resetting")

        await wait_for(
            f"{node.name} is wiped",
            probe,
            timeout=self._site.limits.install,
            interval=self._site.limits.interval,
            hint="talops down --force destroys its VM without a reset",
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )
