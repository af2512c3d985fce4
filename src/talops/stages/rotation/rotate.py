"""Stage `rotate`: from the phase that the secrets are in to the end of the rotation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.pipeline.stage import Absent, Stage
from talops.rotation.phases import advance, begin
from talops.rotation.possible import require_possible
from talops.rotation.steps import Kind, RotationStep, remaining, steps
from talops.rotation.turn import NodeTurns
from talops.rotation.whole import Whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.rotating import Phase, Rotated
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site


@dataclass(frozen=True)
class Facts:
    """The phase of each rotation that has begun."""

    phases: dict[Rotated, Phase]


class Rotate(Stage[Facts, RotationStep]):
    name = "rotate"

    def __init__(
        self, site: Site, rotated: Sequence[Rotated], report: Reporter, *, restart_pods: bool
    ) -> None:
        self._site = site
        self._rotated = rotated
        self._report = report
        self._restart_pods = restart_pods
        self._turns: NodeTurns | None = None

    async def observe(self) -> Facts | Absent:
        bundle = await self._site.secrets.read()
        if bundle is None:
            return Absent("configure", "the cluster has no secrets yet")
        require_possible(self._site, bundle, self._rotated)
        return Facts({name: each.phase for name, each in bundle.rotations.items()})

    def plan(self, facts: Facts) -> list[RotationStep]:
        cluster = self._site.cluster
        nodes = (*cluster.control_planes, *cluster.workers)
        return [
            step
            for rotated in remaining(self._rotated, facts.phases)
            for step in steps(rotated, facts.phases.get(rotated), nodes)
        ]

    async def apply(self, change: RotationStep) -> None:
        bundle = await self._site.secrets.require()
        if change.kind is Kind.NODE:
            await self._node(change, bundle)
            return
        if change.kind in {Kind.SECRETS, Kind.END}:
            await self._secrets(change, bundle)
            return
        whole = Whole(self._site, bundle, change.rotated, self._report)
        if change.kind is Kind.FILES:
            await whole.renew_files()
        elif change.kind is Kind.PODS:
            await whole.follow_pods(restart=self._restart_pods)
        else:
            await whole.rewrite()

    async def verify(self, _: Seen[Facts, RotationStep], /) -> None:
        """Every step has proven itself."""
        self._report.note(
            "commit talos/talsecret.sops.yaml: a copy of before does not open the cluster any more",
            hint="git add talos && git commit",
        )

    async def _node(self, change: RotationStep, bundle: Bundle) -> None:
        if self._turns is None:
            self._turns = NodeTurns(self._site, bundle, change.rotated, self._report)
        node = next(n for n in self._site.cluster.nodes if n.name == change.node)
        await self._turns.bring(node)

    async def _secrets(self, change: RotationStep, bundle: Bundle) -> None:
        """Written before anything of this phase is sent."""
        rotation = bundle.rotations.get(change.rotated)
        if change.kind is Kind.SECRETS and rotation and rotation.phase is change.phase:
            return
        if rotation is None and change.kind is Kind.END:
            return
        now = datetime.now(UTC)
        if rotation is None:
            changed = begin(bundle, change.rotated, now)
        else:
            changed = advance(bundle, change.rotated)
        if change.kind is Kind.END and (following := self._after(change.rotated)):
            # In the same file: a run that ends here does not repeat the one that is done.
            changed = begin(changed, following, now)
        await self._site.secrets.replace(changed)
        self._turns = None

    def _after(self, rotated: Rotated) -> Rotated | None:
        rest = list(self._rotated)[list(self._rotated).index(rotated) + 1 :]
        return rest[0] if rest else None
