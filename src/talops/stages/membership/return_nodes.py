"""Stage `return`: nodes that an interrupted roll left behind go back into service.

It runs after all stages that stop nodes: whatever they still had to change is changed by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import TalopsError
from talops.pipeline.stage import Absent, Change, Stage
from talops.rolls.marks import Mark, mark_of
from talops.rolls.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.rolls.rolling import Rolling
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """Node → the mark that an unfinished roll left on it."""

    marks: Mapping[str, Mark]


@dataclass(frozen=True)
class ReturnChange(Change):
    reboots: bool = False

    @property
    def impact(self) -> Impact:
        return Impact.RESTARTS if self.reboots else Impact.CHANGES


class ReturnNodes(Stage[Facts, ReturnChange]):
    name = "return"
    proven_by_look = True

    def __init__(
        self, site: Site, secrets: SecretsFile, report: Reporter, rolling: Rolling
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._rolling = rolling
        # A control plane that an interrupted roll restarted takes the API with it.
        self.patience = site.limits.boot

    async def observe(self) -> Facts | Absent:
        if await self._secrets.read() is None:
            return Absent("configure", "the cluster has no secrets yet")
        if not self._site.kubeconfig.exists():
            return Absent("kubeconfig", "there is no kubeconfig yet")
        seen = await self._rolling.roller.kube.nodes()
        marks = {node.name: mark_of(seen[node.name]) for node in self._nodes if node.name in seen}
        return Facts({name: mark for name, mark in marks.items() if mark})

    @property
    def _nodes(self) -> tuple[Node, ...]:
        return self._site.chosen

    def plan(self, facts: Facts) -> list[ReturnChange]:
        return [
            ReturnChange(
                "return", name, f"left by an interrupted roll: {mark.reason}", name, mark.reboot
            )
            for name, mark in facts.marks.items()
        ]

    async def apply(self, change: ReturnChange) -> None:
        node = next(node for node in self._nodes if node.name == change.node)
        roller = self._rolling.roller
        found = await roller.candidates(self._nodes)
        roller.expect_sick(each.name for each in found if each.sick and each.under_way)
        await roller.turn(Turn(node, "return to service"), self._report)

    async def verify(self, _: Seen[Facts, ReturnChange], /) -> None:
        found = await self.observe()
        left = sorted(found.marks) if isinstance(found, Facts) else []
        if left:
            raise TalopsError(
                f"still marked by a roll: {', '.join(left)}",
                hint="talops up",
            )
