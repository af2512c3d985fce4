"""Stage `provision`: the VMs, by OpenTofu, layer by layer; their Talos answers when it is done.

What talks to nodes is imported where it is used: OpenTofu can begin to plan without.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import DifferencesFoundError, TalopsError
from talops.pipeline.stage import Absent, Change, Stage
from talops.render.layers import layers
from talops.site import layer_access as access
from talops.site.resource_progress import ResourceProgress, made_vm
from talops.site.state_copies import copies_around
from talops.stages.configure import pending_files
from talops.tofu.apply import fleeting
from talops.tofu.apply_options import ApplyOptions, NoGuard
from talops.tofu.events import LayerStarted
from talops.tofu.outputs import output_differences
from talops.tofu.policy import Policy
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.events import Emit, Event
    from talops.inventory.model import Node
    from talops.layer import Layer
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.fleet import Fleet
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.tofu.apply import Applier
    from talops.tofu.apply_options import Guard
    from talops.tofu.engine import Engine
    from talops.tofu.judge import Judged
    from talops.tofu.ordering import Batch


# Each plan is a tofu and a provider of its own.
AT_ONCE = 4


@dataclass(frozen=True)
class Facts:
    """What each layer's plan would do; None: it cannot be planned before an earlier one is made."""

    layers: dict[str, tuple[Judged, ...] | None]


@dataclass(frozen=True)
class LayerChange(Change):
    """`judged`: what was shown before anybody agreed; None: it could not be planned by then."""

    layer: str = ""
    judged: tuple[Judged, ...] | None = None


class Provision(Stage[Facts, LayerChange]):
    name = "provision"
    under_way: asyncio.Event

    def __init__(
        self, site: Site, secrets: SecretsFile, report: Reporter, policy: Policy | None = None
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._policy = policy or Policy()
        self._ready: set[str] = set()
        # Nodes whose VMs were made in this run: nothing but an answer will do.
        self._new: set[str] = set()
        # OpenTofu has said its first word.
        self.under_way = asyncio.Event()

    @property
    def _layers(self) -> list[Layer]:
        return [layer.at(self._site.root) for layer in layers(self._site.cluster)]

    async def observe(self) -> Facts | Absent:
        if not all(layer.path.is_dir() for layer in self._layers):
            return Absent("configure", "the OpenTofu files are not written yet")
        if pending_files(self._site.cluster, self._site.root):
            # A plan of the old files would show what nobody wants any more.
            return Absent("configure", "the OpenTofu files are about to change")
        seen: dict[str, tuple[Judged, ...] | None] = {}
        waits = False
        early = await self._looked_at_once()
        for layer in self._layers:
            # A layer reads what earlier ones made: its plan means something only after them.
            if waits:
                seen[layer.name] = None
                continue
            found = early[layer.name] if early else await self._judged(layer)
            if isinstance(found, BaseException):
                raise found
            seen[layer.name] = found
            waits = bool(found)
        return Facts(seen)

    async def _looked_at_once(self) -> dict[str, tuple[Judged, ...] | BaseException]:
        """Plans side by side, where all layers were planned before: most likely all are made."""
        if not all((layer.path / ".terraform").is_dir() for layer in self._layers):
            return {}
        turn = asyncio.Semaphore(AT_ONCE)

        async def look(layer: Layer) -> tuple[Judged, ...]:
            async with turn:
                return await self._judged(layer)

        found = await asyncio.gather(*map(look, self._layers), return_exceptions=True)
        return {layer.name: each for layer, each in zip(self._layers, found, strict=True)}

    def plan(self, facts: Facts) -> list[LayerChange]:
        changes = []
        for name, judged in facts.layers.items():
            if judged is None:
                changes.append(LayerChange("apply", name, "after the layers before it", layer=name))
            elif judged:
                changes.append(
                    LayerChange("apply", name, _summary(judged), layer=name, judged=judged)
                )
        return changes

    async def apply(self, change: LayerChange) -> None:
        from talops.site.etcd_guard import guard_of

        layer = next(layer for layer in self._layers if layer.name == change.layer)
        engine = await self._engine(layer)
        guard = guard_of(self._site, self._secrets, self._policy)
        with fleeting(access.saved_plan(self._site, layer)) as saved:
            if await engine.plan(saved):
                with copies_around(self._site.root, self._site.cluster):
                    await self._applier(layer, engine, guard).apply(saved, change.judged)

    async def verify(self, seen: Seen[Facts, LayerChange], /) -> None:
        if seen.applied or unmade(seen.facts):
            await self._no_drift()
            # An empty plan of files that are the inventory's has no other outputs than these: only
            # what was just applied has to be read back, and reading takes tofu a second.
            await self._check_outputs()
        await self._nodes_answer()

    async def _no_drift(self) -> None:
        """A second plan must be empty, or the next run would change things again."""
        facts = await self.observe()
        if isinstance(facts, Absent):
            raise TalopsError(facts.reason)
        if left := unmade(facts):
            name, judged = next(iter(left.items()))
            raise DifferencesFoundError(
                f"a second plan is not empty: {_summary(judged or ())}",
                where=name,
                hint=f"talops infra plan --layer {name}",
            )

    async def _judged(self, layer: Layer) -> tuple[Judged, ...]:
        engine = await self._engine(layer)
        with fleeting(access.saved_plan(self._site, layer)) as saved:
            if not await engine.plan(saved, lock=False):
                return ()
            _, judged = await self._applier(layer, engine).judged(saved)
        return tuple(judged)

    async def _engine(self, layer: Layer) -> Engine:
        engine = access.engine(self._site, layer, self._hear(ResourceProgress(self._report)))
        if layer.name not in self._ready:
            await access.ensure_init(self._site.root, engine, access.variables(self._site, layer))
            self._ready.add(layer.name)
        return engine

    def _hear(self, progress: ResourceProgress) -> Emit:
        def heard(event: Event) -> None:
            if not isinstance(event, LayerStarted):
                self.under_way.set()
            if new := made_vm(event):
                self._new.add(new)
            progress(event)

        return heard

    def _applier(self, layer: Layer, engine: Engine, guard: Guard | None = None) -> Applier:
        options = ApplyOptions(self._policy, healthy=self._healthy, guard=guard or NoGuard())
        return access.applier(self._site, layer, engine, options)

    async def _healthy(self, batch: Batch) -> None:
        """Every node of the batch is back and ready, so that the next may restart."""
        from talops.site.health import wait_healthy

        cluster = self._site.cluster
        await wait_healthy(
            await self._secrets.fleet(),
            [node for node in cluster.nodes if node.name in {*batch.names, *batch.nodes}],
            cluster.control_planes,
            self._site.limits,
            lambda waiting, node: self._report.waiting(waiting, node=node),
            whole=batch.whole,
        )

    async def _check_outputs(self) -> None:
        cluster = self._site.cluster
        layer = next(layer for layer in self._layers if layer.name.startswith("02-"))
        outputs = await (await self._engine(layer)).output()
        wrong = output_differences(
            outputs,
            access.expected_outputs(cluster),
        )
        if wrong:
            raise TalopsError(
                f"outputs and inventory differ: {'; '.join(wrong)}",
                where=layer.name,
                hint="talops configure, then talops infra apply-auto",
            )

    async def _nodes_answer(self) -> None:
        """A VM that runs is not enough: the next stage talks to what is inside."""
        fleet = await self._secrets.fleet()
        nodes: Sequence[Node] = self._site.chosen
        await asyncio.gather(*(self._answers(fleet, node) for node in nodes))

    async def _answers(self, fleet: Fleet, node: Node) -> None:
        from talops.site.fleet import Unreachable

        async def probe() -> Ready[None] | NotYet:
            state = await fleet.look(node)
            if isinstance(state, Unreachable) and not await self._excused(fleet, node):
                return NotYet(state.error.what)
            self._report.node(node.name, vm="running")
            return Ready(None)

        await wait_for(
            f"{node.name} answers at {node.address}",
            probe,
            timeout=self._site.limits.boot,
            interval=self._site.limits.interval,
            hint=f"look at the console of VM {node.name} in Proxmox",
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )

    async def _excused(self, fleet: Fleet, node: Node) -> bool:
        """A worker of an earlier run that only the stages after this one can bring to speak."""
        if node.controller or node.name in self._new:
            return False
        return not await fleet.has_etcd(self._site.cluster.control_planes)


def unmade(facts: Facts) -> dict[str, tuple[Judged, ...] | None]:
    """Layers whose plan is not empty, or that cannot be planned yet."""
    return {name: judged for name, judged in facts.layers.items() if judged is None or judged}


def _summary(judged: Sequence[Judged]) -> str:
    """3 creates, 1 restarts …, harshest first."""
    counts: dict[str, int] = {}
    for change in judged:
        counts[str(change.effect)] = counts.get(str(change.effect), 0) + 1
    return ", ".join(f"{count} {effect}" for effect, count in counts.items())
