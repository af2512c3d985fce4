"""Change the config of one node that serves a cluster, with the rest of the cluster in view."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.reconfigure.updates import ConfigUpdates
from talops.site.fleet import Configured
from talops.site.node_facts import REASON, RETURN, Facts, Standing

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter
    from talops.rolls.rolling import Rolling
    from talops.site.node_configs import NodeConfigs
    from talops.site.node_facts import ConfigChange
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


class Reconfigure:
    def __init__(
        self,
        site: Site,
        secrets: SecretsFile,
        configs: NodeConfigs,
        rolling: Rolling,
        report: Reporter,
    ) -> None:
        self._site = site
        self._configs = configs
        self._rolling = rolling
        self._report = report
        self._updates = ConfigUpdates(site, secrets, configs, report)

    async def placed(self, facts: Facts) -> Facts:
        """With what the order depends on, and the nodes that an interrupted roll left."""
        nodes = [n for n in self._site.chosen if n.name in facts.nodes]
        running = [n for n in nodes if isinstance(facts.nodes[n.name].state, Configured)]
        differing = [node for node in running if not facts.nodes[node.name].same]
        if not differing and (len(running) < len(nodes) or not self._site.kubeconfig.is_file()):
            return facts  # Kubernetes may not work yet, or not any more
        fleet = await self._configs.fleet()
        if not await fleet.has_etcd(self._site.cluster.control_planes):
            return facts
        roller = self._rolling.roller
        try:
            found = await roller.candidates(differing) if differing else []
            left = await roller.left_by(self._report.stage)
        except TalopsError:  # the config may be what repairs Kubernetes
            return replace(facts, founded=True)
        standing = {c.name: Standing(c.sick, c.under_way, c.leader) for c in found}
        same = {node.name for node in running if facts.nodes[node.name].same}
        return replace(facts, founded=True, standing=standing, left=left & same)

    async def apply(self, change: ConfigChange) -> None:
        from talops.reconfigure.proof import ClusterProof
        from talops.rolls.turn import Turn

        node = next(n for n in self._site.cluster.nodes if n.name == change.target)
        roller, updates = self._rolling.roller, self._updates
        planes, fleet = self._site.cluster.control_planes, await self._configs.fleet()
        proof = ClusterProof(node, fleet, planes, roller.kube)
        if change.action == RETURN:
            await roller.turn(Turn(node, REASON), self._report)
            return
        if not change.reboots:
            await roller.change(node, lambda: updates.live(node, change, proof), self._report)
            return
        if change.cuts:
            await roller.change(node, lambda: updates.rehearse(node, change, proof), self._report)
        turn = Turn(
            node,
            REASON,
            act=lambda: updates.reboot(node, change),
            arrived=lambda: updates.missing(node, change),
        )
        await roller.turn(turn, self._report)
