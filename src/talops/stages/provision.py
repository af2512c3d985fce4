"""Stage `provision`: create the VMs with OpenTofu, layer by layer, until their Talos answers.

Modules that talk to nodes are imported where they are used: OpenTofu can start to plan earlier.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from talops.errors import DifferencesFoundError, TalopsError
from talops.pipeline.stage import Absent, Change, Stage
from talops.plural import count
from talops.render.layers import layers
from talops.rolls.machines import images_in_use, judge_nodes
from talops.rolls.order import out_of_service
from talops.rolls.rolling import Rolling
from talops.site import layer_access as access
from talops.site.aside import initialised, rendered_aside, state_moves
from talops.site.founding.record import any_founding
from talops.site.resource_progress import ResourceProgress, made_vm
from talops.site.state.copies import copies_around
from talops.stages.configure import pending_files, wanted_files
from talops.tofu.apply import fleeting
from talops.tofu.apply_options import ApplyOptions, NoGuard
from talops.tofu.approval import items
from talops.tofu.events import LayerStarted
from talops.tofu.outputs import output_differences
from talops.tofu.policy import Policy
from talops.tofu.rules import Effect
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from talops.approval import Item
    from talops.events import Emit, Event
    from talops.inventory.model import Cluster, Node
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


# Each plan runs its own OpenTofu and provider.
AT_ONCE = 4
TO_DO = {
    Effect.NOTHING: "without effect",
    Effect.ONLINE: "to update online",
    Effect.CREATES: "to create",
    Effect.RESTARTS: "to restart",
    Effect.DISCONNECTS: "to disconnect",
    Effect.REMOVES_DISK: "to remove a disk from",
    Effect.FORGETS: "to remove from the state",
    Effect.REPLACES: "to replace",
    Effect.DESTROYS: "to destroy",
}


@dataclass(frozen=True)
class Facts:
    """The plan of each layer; None if an earlier layer must be applied first.

    `ahead`: the plan of such a layer with the present outputs of the earlier ones. `refused`: why
    a plan is not allowed. `holding`: layers with VMs that another stage destroys. `founded`: the
    cluster was bootstrapped, so that its nodes are in service.
    """

    layers: dict[str, tuple[Judged, ...] | None]
    ahead: dict[str, tuple[Judged, ...]] = field(default_factory=dict)
    refused: dict[str, TalopsError] = field(default_factory=dict)
    holding: set[str] = field(default_factory=set)
    founded: bool = False


@dataclass(frozen=True)
class LayerPlan:
    """The plan of one layer, and why it is not allowed. `holding`: it would also destroy VMs of
    nodes in service, which the stage `remove` does.
    """

    judged: tuple[Judged, ...] = ()
    refused: TalopsError | None = None
    holding: bool = False


@dataclass(frozen=True)
class LayerChange(Change):
    """`judged`: what the user confirmed; None: it could not be planned at that time. `targets`: all
    that is applied; everything if empty.
    """

    layer: str = ""
    judged: tuple[Judged, ...] | None = None
    refused: TalopsError | None = None
    targets: tuple[str, ...] = ()
    # Node → its pods are moved first, and the sizes of etcd; of those that restart in service.
    rolled: Mapping[str, tuple[bool, tuple[int, ...]]] = field(default_factory=dict)

    def items(self) -> tuple[Item, ...] | None:
        if self.judged is None:
            return None
        return tuple(self._item(item) for item in items(self.judged))

    def _item(self, item: Item) -> Item:
        drains, members = self.rolled.get(item.node, (False, ()))
        name = f"{self.layer} {item.object}"
        return replace(item, object=name, drains=drains, members=members)

    def refusal(self) -> TalopsError | None:
        return self.refused


class Provision(Stage[Facts, LayerChange]):
    name = "provision"
    under_way: asyncio.Event

    def __init__(
        self,
        site: Site,
        secrets: SecretsFile,
        report: Reporter,
        policy: Policy | None = None,
        rolling: Rolling | None = None,
        leaving: Collection[str] = (),
    ) -> None:
        """`leaving`: nodes that leave the cluster before this stage changes anything."""
        self._site = site
        self._secrets = secrets
        self._report = report
        self._policy = policy or Policy()
        self._rolling = rolling or Rolling(site)
        self._leaving = frozenset(leaving)
        self._ready: set[str] = set()
        # Nodes with new VMs: they must answer.
        self._new: set[str] = set()
        # Set when OpenTofu has produced its first output.
        self.under_way = asyncio.Event()

    @property
    def _layers(self) -> list[Layer]:
        return [layer.at(self._site.root) for layer in layers(self._site.cluster)]

    async def observe(self) -> Facts | Absent:
        root, cluster = self._site.root, self._site.cluster
        if not pending_files(cluster, root):
            return await self._planned(self._layers)
        files = wanted_files(cluster, root)
        rendered = any(layer.path.is_dir() for layer in self._layers)
        if not rendered and cluster.state.kind == "local":
            return Absent("configure", f"the OpenTofu files do not exist yet; {_vms(cluster)}")
        if state_moves(root, files, self._layers):
            return Absent("configure", "the place of a state will change first")
        with rendered_aside(files, self._layers) as aside:
            return await self._planned(aside)

    async def _planned(self, layers: Sequence[Layer]) -> Facts:
        found = Facts({}, founded=any_founding(self._site.root))
        early = await self._looked_at_once(layers)
        for layer in layers:
            # A layer reads outputs of earlier ones: it can be planned only after they are applied.
            if any(judged for judged in found.layers.values()) or None in found.layers.values():
                found.layers[layer.name] = None
                ahead = early.get(layer.name)
                if ahead is not None and not isinstance(ahead, BaseException):
                    found.ahead[layer.name] = ahead.judged
                continue
            seen = early[layer.name] if early else await self._judged(layer)
            if isinstance(seen, BaseException):
                raise seen
            found.layers[layer.name] = seen.judged
            if seen.refused:
                found.refused[layer.name] = seen.refused
            if seen.holding:
                found.holding.add(layer.name)
        return found

    async def _looked_at_once(
        self, layers: Sequence[Layer]
    ) -> dict[str, LayerPlan | BaseException]:
        """Plan in parallel if all layers were planned before: most likely all are up to date."""
        if not all((layer.path / ".terraform").is_dir() for layer in layers):
            return {}
        turn = asyncio.Semaphore(AT_ONCE)

        async def look(layer: Layer) -> LayerPlan:
            async with turn:
                return await self._judged(layer)

        found = await asyncio.gather(*map(look, layers), return_exceptions=True)
        return {layer.name: each for layer, each in zip(layers, found, strict=True)}

    def plan(self, facts: Facts) -> list[LayerChange]:
        changes = []
        for name, judged in facts.layers.items():
            if judged is None:
                ahead = facts.ahead.get(name, ())
                detail = "after the layers before it"
                if ahead:
                    detail += f"; with their present outputs: {_summary(ahead)}"
                changes.append(LayerChange("apply", name, detail, layer=name))
            elif judged:
                refused = facts.refused.get(name)
                only = tuple(c.address for c in judged) if name in facts.holding else ()
                summary, rolled = _summary(judged), self._rolled(facts, judged)
                changes.append(
                    LayerChange("apply", name, summary, None, name, judged, refused, only, rolled)
                )
        return changes

    def _rolled(
        self, facts: Facts, judged: Sequence[Judged]
    ) -> dict[str, tuple[bool, tuple[int, ...]]]:
        """Before the cluster is bootstrapped, VMs restart without an order."""
        restarting = [c.node for c in judged if c.stops and c.effect is Effect.RESTARTS]
        known = [n for n in restarting if facts.founded and n in self._site.cluster.node_names]
        return {name: out_of_service(self._site.cluster, name) for name in known}

    async def apply(self, change: LayerChange) -> None:
        from talops.site.etcd_guard import guard_of

        layer = next(layer for layer in self._layers if layer.name == change.layer)
        engine = await self._engine(layer)
        guard = guard_of(self._site, self._secrets, self._policy)
        with fleeting(access.saved_plan(layer)) as saved:
            if await engine.plan(saved, targets=change.targets):
                shown = None if change.judged is None else items(change.judged)
                with copies_around(self._site.root, self._site.cluster):
                    await self._applier(layer, engine, guard, change.targets).apply(saved, shown)

    async def verify(self, seen: Seen[Facts, LayerChange], /) -> None:
        if seen.applied or unmade(seen.facts):
            await self._no_drift()
            # An empty plan of up-to-date files cannot have changed outputs: read them only after an
            # apply, because reading takes OpenTofu a second.
            if not seen.facts.holding:
                await self._check_outputs()
        await self._nodes_answer()

    async def _no_drift(self) -> None:
        """A second plan must be empty, otherwise the next run would change things again."""
        facts = await self.observe()
        if isinstance(facts, Absent):
            raise TalopsError(facts.reason)
        if left := unmade(facts):
            name, judged = next(iter(left.items()))
            raise DifferencesFoundError(
                f"the plan is not empty right after applying it: {_summary(judged or ())}",
                where=name,
                hint=f"talops infra plan --layer {name}",
            )

    async def _judged(self, layer: Layer) -> LayerPlan:
        engine = await self._engine(layer)
        with fleeting(access.saved_plan(layer)) as saved:
            if not await engine.plan(saved, lock=False):
                return LayerPlan()
            applier = self._applier(layer, engine)
            plan, judged = await applier.judged(saved)
        found = await judge_nodes(plan, judged, self._serving)
        # One node is replaced at a time: the others wait for their own replacement.
        others = found.broken if self._leaving else frozenset[str]()
        kept = tuple(c for c in judged if c.node not in found.held | others and not self._goes(c))
        refused = images_in_use(kept, others) if others else found.refused
        left_out = len(kept) < len(judged)
        return LayerPlan(kept, refused or applier.refusal(plan, kept), left_out)

    def _goes(self, change: Judged) -> bool:
        """A VM that is destroyed before this stage: what differs is in the one that is created."""
        leaves = change.guest and change.node in self._leaving
        return leaves and not change.tainted and change.effect is not Effect.CREATES

    async def _serving(self) -> frozenset[str]:
        """Nodes that Kubernetes or etcd knows; their VMs are not simply destroyed."""
        from talops.rolls.standing import names_in_service

        return await names_in_service(self._site, self._rolling.roller.kube) - self._leaving

    async def _engine(self, layer: Layer) -> Engine:
        site = self._site
        engine = access.engine(site, layer, self._hear(ResourceProgress(self._report)))
        if layer.root != site.root:
            await initialised(site, engine)
        elif layer.name not in self._ready:
            await access.ensure_init(site.root, engine, access.variables(site, layer))
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

    def _applier(
        self,
        layer: Layer,
        engine: Engine,
        guard: Guard | None = None,
        targets: tuple[str, ...] = (),
    ) -> Applier:
        from talops.rolls.vms import VmRoll

        options = ApplyOptions(
            self._policy,
            healthy=self._healthy,
            guard=guard or NoGuard(),
            roll=VmRoll(self._rolling, self._healthy, self._report),
            targets=targets,
        )
        return access.applier(self._site, layer, engine, options)

    async def _healthy(self, batch: Batch) -> None:
        """Every node of the batch is ready again, so that the next batch may restart."""
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
                f"the outputs differ from the inventory: {'; '.join(wrong)}",
                where=layer.name,
                hint="talops configure, then: talops infra apply-auto",
            )

    async def _nodes_answer(self) -> None:
        """A running VM is not enough: the next stage talks to the Talos inside."""
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
            f"{node.name} to answer at {node.address}",
            probe,
            timeout=self._site.limits.boot,
            interval=self._site.limits.interval,
            hint=f"check the console of VM {node.name} in Proxmox",
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )

    async def _excused(self, fleet: Fleet, node: Node) -> bool:
        """A worker of an earlier run that can answer only after the following stages."""
        if node.controller or node.name in self._new:
            return False
        return not await fleet.has_etcd(self._site.cluster.control_planes)


def unmade(facts: Facts) -> dict[str, tuple[Judged, ...] | None]:
    """Layers whose plan is not empty, or that cannot be planned yet."""
    return {name: judged for name, judged in facts.layers.items() if judged is None or judged}


def _vms(cluster: Cluster) -> str:
    names = [node.name for node in cluster.nodes if node.vm]
    return f"{count(len(names), 'VM')}: {', '.join(names)}"


def _summary(judged: Sequence[Judged]) -> str:
    """Such as: 3 to create, 1 to restart."""
    counts: dict[Effect, int] = {}
    for change in judged:
        counts[change.effect] = counts.get(change.effect, 0) + 1
    return ", ".join(f"{number} {TO_DO[effect]}" for effect, number in counts.items())
