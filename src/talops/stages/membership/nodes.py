"""Stage `nodes`: refuse changes of nodes that are not safe, before anything else happens.

It also removes etcd members that lost their machine: every other change needs a healthy etcd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import ConflictError, NotReadyError, TalopsError, UnreachableError
from talops.kube import kubeconfig_file
from talops.nodeplan.inplace import refused_now
from talops.nodeplan.machine import Machine
from talops.pipeline.stage import Change, Stage
from talops.rolls.refused import refused
from talops.rolls.removal.leaving import Leaving
from talops.rolls.removal.owned import Leavers, unnamed
from talops.rolls.standing import look_at_cluster
from talops.site.founding.record import any_founding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.stage import Reporter, Seen
    from talops.rolls.removal.removable import Removable
    from talops.rolls.rolling import Rolling
    from talops.rolls.standing import Known, Standing
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """`standing`: None if there is no cluster yet, or if it does not answer."""

    standing: Standing | None = None
    leavers: tuple[Known, ...] = ()


@dataclass(frozen=True)
class MemberChange(Change):
    refused: ConflictError | None = None

    def refusal(self) -> TalopsError | None:
        return self.refused

    @property
    def impact(self) -> Impact:
        return Impact.DESTROYS


class Nodes(Stage[Facts, MemberChange]):
    name = "nodes"
    proven_by_look = True

    def __init__(
        self, site: Site, report: Reporter, rolling: Rolling, removable: Removable
    ) -> None:
        self._site = site
        self._rolling = rolling
        self._removable = removable
        self._leaving = Leaving(rolling, None, report)
        self._leavers = Leavers(site, report)

    async def observe(self) -> Facts:
        """Stages that depend on an answer report a cluster that does not answer."""
        if not self._began() or await self._site.secrets.read() is None:
            return Facts()
        fleet = await self._site.secrets.fleet()
        try:
            found = await look_at_cluster(self._site.cluster, fleet, self._rolling.roller.kube)
        except (UnreachableError, NotReadyError):
            return Facts()
        return Facts(found, await self._leavers.of(found))

    def _began(self) -> bool:
        """Before the first bootstrap no machine answers, and asking all of them takes time."""
        site = self._site
        known = kubeconfig_file.entry(site.kubeconfig, site.cluster.name)
        return known is not None or any_founding(site.root)

    def plan(self, facts: Facts) -> list[MemberChange]:
        if facts.standing is None or not facts.standing.nodes:
            return []
        self._refuse(facts.standing, facts.leavers)
        refused = unnamed(facts.leavers, self._removable)
        why = "it does not answer, and nodes.yaml does not have it"
        members = len(facts.standing.etcd.members)
        return [
            MemberChange(
                "remove",
                f"etcd member {known.name}",
                why,
                known.name,
                refused,
                members=(members - done, members - done - 1),
            )
            for done, known in enumerate(_lost(facts))
        ]

    def _refuse(self, standing: Standing, leavers: Sequence[Known]) -> None:
        """Nodes that other programs added are neither changed nor counted."""
        ours = {known.name for known in leavers} | {*self._site.cluster.node_names}
        before = [known.machine for name, known in standing.nodes.items() if name in ours]
        after = [Machine(n.name, n.controller, str(n.address)) for n in self._site.cluster.nodes]
        unsafe = refused_now(before, after, standing.world, removing=bool(leavers))
        if unsafe:
            raise refused(unsafe)

    async def apply(self, change: MemberChange) -> None:
        assert change.node
        await self._leaving.remove_member(change.node)

    async def verify(self, _: Seen[Facts, MemberChange], /) -> None:
        facts = await self.observe()
        if left := _lost(facts):
            raise TalopsError(
                f"still an etcd member: {', '.join(known.name for known in left)}",
                hint="talops talos etcd members",
            )


def _lost(facts: Facts) -> list[Known]:
    """Members of etcd whose machine does not answer."""
    if facts.standing is None:
        return []
    etcd = facts.standing.etcd
    return [k for k in facts.leavers if k.name in etcd.members and k.name in etcd.unread]
