"""Stage `workers`: every worker runs its config, once etcd exists.

Most got their config from `apply-config`; this stage only waits for them. A worker that did not
answer then, because it had its config from an earlier run, gets what it lacks as soon as it
answers.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.pipeline.stage import Absent, Stage
from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.site.fleet import Unreachable
from talops.site.node_configs import NodeConfigs
from talops.site.node_facts import ConfigChange, change_for, require_own_machines, since

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.node_facts import NodeFacts
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    nodes: Mapping[str, NodeFacts]
    # Workers that did not answer when the run began, so `apply-config` skipped them.
    late: frozenset[str]


class Workers(Stage[Facts, ConfigChange]):
    name = "workers"
    independent = True

    def __init__(
        self,
        site: Site,
        secrets: SecretsFile,
        report: Reporter,
        admission: Admission = NOTHING_SAID,
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._configs = NodeConfigs(site, secrets, report, admission=admission)
        self._late: frozenset[str] | None = None

    @property
    def _nodes(self) -> list[Node]:
        return [node for node in self._site.chosen if not node.controller]

    async def observe(self) -> Facts | Absent:
        if await self._secrets.read() is None:
            return Absent("configure", "the cluster has no secrets yet")
        states = await (await self._configs.fleet()).look_at_all(self._nodes)
        if self._late is None:
            self._late = frozenset(name for name, s in states.items() if isinstance(s, Unreachable))
        return Facts(await self._configs.facts(self._nodes, states), self._late)

    def plan(self, facts: Facts) -> list[ConfigChange]:
        """`apply-config` plans the others."""
        require_own_machines(self._nodes, facts.nodes, self._site.cluster)
        wanted = [change_for(name, s) for name, s in facts.nodes.items() if name in facts.late]
        return [change for change in wanted if change]

    async def apply(self, change: ConfigChange) -> None:
        await self._configs.bring(change)

    async def verify(self, seen: Seen[Facts, ConfigChange], /) -> None:
        untouched = since(seen.applied, seen.facts.nodes)
        left = [n for n in self._nodes if not self._configs.settled(n, untouched.get(n.name))]
        await asyncio.gather(*(self._configs.wait(node) for node in left))

    async def conclude(self, _: Seen[Facts, ConfigChange], /) -> None:
        await self._configs.keep(self._nodes)
