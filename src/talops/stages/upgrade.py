"""Stage `upgrade`: Talos and Kubernetes, hop by hop, to the versions of the inventory.

It runs before the configs are applied: where a node needs a new Talos and a new config, Talos comes
first. A cluster that is not bootstrapped yet has nothing to upgrade.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from talops.errors import ConflictError, NotReadyError, TalopsError, UnreachableError
from talops.nodeplan.order import PAIR
from talops.nodeplan.refusing import one_of_two
from talops.pipeline.stage import Absent, Stage
from talops.rolls.rolling import Rolling
from talops.site.fleet import Configured, all_answer
from talops.upgrades.changes import Facts, HopChange, of_kubernetes, of_talos
from talops.upgrades.kubernetes.hop import Kubernetes
from talops.upgrades.path import SETTING, Part, Path, Wanted, find_path
from talops.upgrades.seen import goal_of, look_at_all
from talops.upgrades.talos_hop import TalosHop, behind
from talops.upgrades.tuppr import managed
from talops.upgrades.versions import Span, key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.upgrades.breaking import Breakage
    from talops.upgrades.kubernetes_hop import KubernetesHop
    from talops.upgrades.path import Hop


class Upgrade(Stage[Facts, HopChange]):
    name = "upgrade"
    proven_by_look = True

    def __init__(
        self,
        site: Site,
        secrets: SecretsFile,
        report: Reporter,
        rolling: Rolling | None = None,
        kubernetes: KubernetesHop | None = None,
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._rolling = rolling or Rolling(site)
        self._told = False
        self._kubernetes = kubernetes or Kubernetes(site, self._rolling, report)
        # A node that an interrupted upgrade has restarted does not answer for a while.
        self.patience = site.limits.boot

    async def observe(self) -> Facts | Absent:
        if await self._secrets.read() is None:
            return Absent("configure", "the cluster has no secrets yet")
        fleet, cluster = await self._secrets.fleet(), self._site.cluster
        if not await fleet.has_etcd(cluster.control_planes):
            return Facts()
        states = await fleet.look_at_all(cluster.nodes)
        all_answer(self._site.chosen, states)
        running = [
            (node, state.config)
            for node in cluster.nodes
            if isinstance(state := states[node.name], Configured)
        ]
        return await self._judged(Facts(await look_at_all(fleet, running)))

    def plan(self, facts: Facts) -> list[HopChange]:
        if not facts.nodes:
            return []
        path = self._path(facts)
        for refusal in path.refusals:
            if refusal.setting not in {SETTING[part] for part in facts.managed}:
                where = f"cluster.yaml: {refusal.setting}"
                raise TalopsError(refusal.what, where=where, hint=refusal.hint)
        if path.hops and facts.unread:
            raise facts.unread
        hops = self._own(path.hops, facts)
        if hops:
            self._require(facts)
        changes = [self._change(hop, facts) for hop in hops]
        self._require_majority(changes)
        # With --nodes, a hop may concern none of them.
        return [change for change in changes if change.items()]

    async def apply(self, change: HopChange) -> None:
        hop = change.hop
        assert hop, "every change is a hop"
        if hop.part is Part.TALOS:
            await (await self._talos()).run(hop.to)
        else:
            await self._kubernetes.run(hop.to)

    async def verify(self, _: Seen[Facts, HopChange], /) -> None:
        found = await self.observe()
        left = self.plan(found) if isinstance(found, Facts) else []
        if left:
            raise TalopsError(f"still to do: {left[0]}", hint="talops up")

    async def _judged(self, facts: Facts) -> Facts:
        """With what is only needed if something has to change."""
        facts = await self._with_kubernetes(facts)
        path = self._path(facts)
        if path.hops and facts.unread:
            # A control plane that was restarted a moment ago: with `patience` it is asked again.
            raise facts.unread
        if path.hops or path.refusals:
            facts = await self._with_managed(facts)
        hops = self._own(path.hops, facts)
        talos = [hop for hop in hops if hop.part is Part.TALOS]
        kubernetes = [hop for hop in hops if hop.part is Part.KUBERNETES]
        findings: Sequence[Breakage] = ()
        problems: Sequence[str] = ()
        if talos:
            findings = await (await self._talos()).findings(facts.nodes, talos[-1].to)
        if kubernetes and kubernetes[0] is hops[0]:
            problems = await self._kubernetes.problems(kubernetes[0].to)
        return replace(facts, findings=tuple(findings), problems=tuple(problems))

    async def _with_managed(self, facts: Facts) -> Facts:
        if facts.unread:
            return facts
        try:
            found = await managed(self._rolling.roller.kube)
        except NotReadyError as error:  # an API server that has just started: ask it again
            raise UnreachableError(error.what, where=error.where, hint=error.hint) from error
        if found and not self._told:
            self._told = True
            names = " and ".join(sorted(found))
            self._report.note(
                f"tuppr upgrades {names} in this cluster: talops leaves the version to it",
                hint="delete its objects to let talops upgrade, or set the version in cluster.yaml",
            )
        return replace(facts, managed=found)

    def _own(self, hops: Sequence[Hop], facts: Facts) -> Sequence[Hop]:
        """Up to the first one that tuppr has to make, and that later ones depend on."""
        own = takewhile(lambda hop: hop.part not in facts.managed, hops)
        return self._possible(list(own))

    async def _with_kubernetes(self, facts: Facts) -> Facts:
        if not facts.nodes:
            return facts
        try:
            return Facts(facts.nodes, await self._kubernetes.look())
        except UnreachableError as error:
            # Configs may have to be repaired first; an upgrade without an answer is refused.
            return Facts(facts.nodes, unread=error)

    def _path(self, facts: Facts) -> Path:
        cluster = self._site.cluster
        if not facts.nodes:
            return Path()
        wanted, running = cluster.kubernetes_version, facts.kubernetes
        if running is None or key(running.high) > key(wanted):
            # What another program raised is never lowered: `verify` and `drift` name it.
            wanted = running.high if running else wanted
            running = Span(wanted, wanted)
        nodes = {node.name: node for node in cluster.nodes}
        reimage = any(
            not each.runs(goal_of(cluster, nodes[each.name], cluster.talos_version))
            for each in facts.nodes
        )
        return find_path(
            Span.of(each.talos for each in facts.nodes),
            running,
            Wanted(cluster.talos_version, wanted, reimage),
        )

    def _possible(self, hops: Sequence[Hop]) -> Sequence[Hop]:
        """With --nodes, only the first hop: the others stay behind, so that no further one fits."""
        if len(self._site.chosen) == len(self._site.cluster.nodes):
            return hops
        return [hop for hop in hops[:1] if hop.part is Part.TALOS]

    def _change(self, hop: Hop, facts: Facts) -> HopChange:
        if hop.part is Part.KUBERNETES:
            return of_kubernetes(hop)
        nodes = {node.name: node for node in self._site.chosen}
        names = [n for n in behind(self._site.cluster, facts.nodes, hop.to) if n in nodes]
        advice = [finding for finding in facts.findings if not finding.refuses]
        return of_talos(hop, [nodes[name] for name in names], self._site.cluster, advice)

    def _require(self, facts: Facts) -> None:
        refusing = [finding for finding in facts.findings if finding.refuses]
        if refusing:
            listed = "\n  ".join(f"{f.name}: {f.what}" for f in refusing)
            raise TalopsError(
                f"this upgrade of Talos would break nodes; nothing was changed:\n  {listed}",
                where=refusing[0].name,
                hint=refusing[0].hint,
            )
        if facts.problems:
            listed = "\n  ".join(facts.problems)
            raise TalopsError(
                f"Kubernetes cannot be upgraded yet; nothing was changed:\n  {listed}",
                where="kubernetes_version",
                hint="change what is listed, then: talops up",
            )

    def _require_majority(self, changes: Sequence[HopChange]) -> None:
        """One of two members cannot restart without an interruption of the API."""
        planes = {node.name for node in self._site.cluster.control_planes}
        stopping = {item.node for change in changes for item in change.items()} & planes
        stopping -= self._rolling.options.allow_unhealthy_etcd
        if len(planes) == PAIR and stopping:
            name = min(stopping)
            found = one_of_two(name)
            raise ConflictError(
                found.what,
                where=name,
                hint=f"{found.safe}; or accept that the API is away meanwhile: "
                + " ".join(f"--allow-unhealthy-etcd {each}" for each in sorted(stopping)),
            )

    async def _talos(self) -> TalosHop:
        fleet = await self._secrets.fleet()
        return TalosHop(self._site, fleet, self._rolling.roller, self._report)
