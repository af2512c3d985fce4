"""Stage `reset` for one node: it leaves the cluster, if possible, and is wiped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.kube.conditions import condition
from talops.kube.drain import DrainOptions, drain
from talops.pipeline.stage import Stage
from talops.rolls.marks import is_cordoned
from talops.rolls.wiping import wipe
from talops.site.connections import Connections, errors_of, values_of
from talops.site.enrolment.record import EnrolmentRecord
from talops.site.fleet import Configured, Unreachable
from talops.site.protection import require_unprotected
from talops.stages.reset_nodes import ResetChange
from talops.talos.membership import Etcd
from talops.talos.membership import objection_to_leave as objection

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Absent, Reporter, Seen
    from talops.site.fleet import State
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.talos.calls.etcd import EtcdMember, EtcdStatus
    from talops.talos.client import Talos

RESET, REMOVE = "reset", "remove"


@dataclass(frozen=True)
class Facts:
    state: State
    etcd: Etcd | None  # None for a worker, which has no etcd


class ResetOne(Stage[Facts, ResetChange]):
    """A node that answers leaves etcd itself; otherwise the other members remove it."""

    name = "reset"

    def __init__(
        self, site: Site, node: Node, secrets: SecretsFile, report: Reporter, *, force: bool
    ) -> None:
        self._site = site
        self._node = node
        self._connections = Connections(site, secrets)
        self._report = report
        self._force = force

    async def observe(self) -> Facts | Absent:
        fleet = await self._connections.fleet()
        state = await fleet.look(self._node)
        return Facts(state, await self._etcd() if self._node.controller else None)

    def plan(self, facts: Facts) -> list[ResetChange]:
        """Refuse what cannot be undone, unless forced."""
        name = self._node.name
        require_unprotected([self._node], "reset")
        if not self._force:
            self._refuse(facts)
        if isinstance(facts.state, Configured):
            detail, graceful = self._way(facts)
            return [ResetChange(RESET, name, detail, name, graceful)]
        if facts.etcd and name in facts.etcd.members and objection(name, facts.etcd) is None:
            return [ResetChange(REMOVE, f"etcd member {name}", "by the other members", name)]
        return []

    async def apply(self, change: ResetChange) -> None:
        if change.action == REMOVE:
            await self._strike_off()
            return
        if change.graceful and not self._force:
            await self._empty()
        fleet = await self._connections.fleet()
        await wipe(fleet, self._node, self._site, self._report, graceful=change.graceful)
        if self._node.controller and self._to_strike_off(await self._etcd()):
            await self._strike_off()

    async def verify(self, _: Seen[Facts, ResetChange], /) -> None:
        """Etcd does not list the node any more, unless it was forced to stay a member."""
        if not self._node.controller or not self._holds_up(etcd := await self._etcd()):
            return
        still = f"{self._node.name} is still an etcd member"
        if self._to_strike_off(etcd):
            raise TalopsError(still, hint="run the same command again")
        self._report.note(still, level="warning")

    async def conclude(self, _: Seen[Facts, ResetChange], /) -> None:
        """Also a node that was in maintenance mode already may get its config again."""
        EnrolmentRecord(self._site.root).wiped(self._node.name)

    async def _empty(self) -> None:
        """Talos drains, too, but it wipes the node even if pods could not be evicted."""
        name = self._node.name
        try:
            nodes = await self._connections.kube_nodes()
        except TalopsError as error:
            self._report.note(f"Kubernetes does not answer, so Talos alone drains {name}: {error}")
            return
        others = [n for n in nodes.values() if n["metadata"]["name"] != name]
        if name not in nodes or all(is_cordoned(n) or condition(n, "Ready") for n in others):
            return  # its pods have no other place
        options = DrainOptions(
            timeout=self._site.cluster.timeouts.drain,
            delete_unmanaged=True,
            interval=self._site.limits.interval,
        )
        try:
            async with self._connections.kube() as kube:
                await drain(kube, name, options, lambda w: self._report.waiting(w, node=name))
        except TalopsError as error:
            way = f"to reset it without a drain: talops reset --node {name} --force"
            error.hint = f"{error.hint}; {way}" if error.hint else way
            raise

    def _to_strike_off(self, etcd: Etcd) -> bool:
        """Whether to remove the member; a forced reset keeps it if etcd needs it for quorum."""
        kept = self._force and objection(self._node.name, etcd)
        return self._holds_up(etcd) and not kept

    def _holds_up(self, etcd: Etcd) -> bool:
        return self._node.name in etcd.members and len(etcd.members) > 1

    def _refuse(self, facts: Facts) -> None:
        name = self._node.name
        again = f"to reset it anyway: talops reset --node {name} --force"
        if facts.etcd and (reason := objection(name, facts.etcd)):
            raise ConflictError(reason, where=name, hint=again)
        if isinstance(facts.state, Unreachable):
            raise ConflictError(
                f"{name} does not answer, so it cannot leave the cluster: {facts.state.error.what}",
                where=str(self._node.address),
                hint=again,
            )

    def _way(self, facts: Facts) -> tuple[str, bool]:
        """A description of the reset, and whether it is graceful."""
        if facts.etcd is None:
            return "drain and wipe", True
        if objection(self._node.name, facts.etcd):
            return "wipe without leaving etcd", False
        return "drain, leave etcd and wipe", True

    async def _etcd(self) -> Etcd:
        """What each control plane reports, including the node itself."""
        planes = self._site.cluster.control_planes
        answers = await self._connections.ask(planes, _members)
        seen = values_of(answers)
        # Use the longest list: a member that lags behind must not hide another one.
        lists = [members for members, _ in seen.values()]
        longest = max(lists, key=len, default={})
        healthy = {name for name, (_, status) in seen.items() if _well(status)}
        unread = {name: error.what for name, error in errors_of(answers).items()}
        return Etcd(longest, frozenset(healthy), unread)

    async def _strike_off(self) -> None:
        others = [n for n in self._site.cluster.control_planes if n.name != self._node.name]
        etcd = await self._etcd()
        member = etcd.members.get(self._node.name)
        if member is None:
            return
        answers = await self._connections.ask(
            [n for n in others if n.name in etcd.healthy][:1],
            lambda talos: talos.etcd.remove_member(member),
        )
        for error in errors_of(answers).values():
            raise error
        if not answers:
            raise TalopsError(
                f"no other healthy control plane can remove {self._node.name} from etcd",
                hint="talops talos etcd status",
            )


async def _members(talos: Talos) -> tuple[dict[str, int], EtcdStatus]:
    members: list[EtcdMember] = await talos.etcd.members()
    status = await talos.etcd.status()
    return {m.hostname or str(m.id): m.id for m in members if not m.learner}, status


def _well(status: EtcdStatus) -> bool:
    return bool(status.leader) and not status.learner and not status.errors
