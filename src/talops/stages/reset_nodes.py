"""Stage `reset`: nodes leave the cluster and are wiped, if they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.pipeline.stage import Absent, Change, Stage
from talops.rolls.wiping import wipe
from talops.site.fleet import Configured
from talops.site.protection import Protected, require_unprotected

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.fleet import State
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    states: dict[str, State]


@dataclass(frozen=True)
class ResetChange(Change):
    """`graceful`: the node drains, and a control plane leaves etcd, before it is wiped."""

    graceful: bool = True

    @property
    def impact(self) -> Impact:
        return Impact.DESTROYS


class ResetNodes(Stage[Facts, ResetChange]):
    """Workers first, then control planes; the last control plane cannot leave its own etcd."""

    name = "reset"

    def __init__(
        self, site: Site, secrets: SecretsFile, report: Reporter, *, force: bool = False
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._force = force

    async def observe(self) -> Facts | Absent:
        if await self._secrets.read() is None:
            return Facts({})
        await Protected(self._site).require_none_left()
        return Facts(await (await self._secrets.fleet()).look_at_all(self._site.chosen))

    def plan(self, facts: Facts) -> list[ResetChange]:
        """A node that does not answer is skipped; its VM is destroyed anyway."""
        require_unprotected(self._site.cluster.nodes, "destroy")
        answering = [
            node
            for node in self._site.chosen
            if isinstance(facts.states.get(node.name), Configured)
        ]
        workers = [node for node in answering if not node.controller]
        planes = [node for node in answering if node.controller]
        changes = [ResetChange("reset", n.name, "drain and wipe", n.name) for n in workers]
        whole = len(planes) == len(self._site.cluster.control_planes)
        for place, node in enumerate(planes):
            # With a dead member etcd rejects the removal of another one, and its data is not kept
            # anyway.
            leaves = whole and place < len(planes) - 1
            detail = "leave etcd and wipe" if leaves else "wipe; etcd stops with it"
            changes.append(ResetChange("reset", node.name, detail, node.name, leaves))
        return [] if self._force else changes

    async def apply(self, change: ResetChange) -> None:
        node = next(n for n in self._site.cluster.nodes if n.name == change.node)
        fleet = await self._secrets.fleet()
        await wipe(fleet, node, self._site, self._report, graceful=change.graceful)

    async def verify(self, _: Seen[Facts, ResetChange], /) -> None:
        """Nothing to prove: the VM is destroyed next."""
