"""Stage `apply-config`: every node runs the machine config that the inventory gives it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.machineconfig.build import build_configs
from talops.pipeline.stage import Absent, Change
from talops.stages.config_differences import differing, same
from talops.stages.fleet import (
    Configured,
    Fleet,
    Silent,
    Waiting,
    all_answer,
    named,
    nobody_signs,
)
from talops.talos.calls.machine import ApplyMode
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Node
    from talops.machineconfig.generate import MachineConfig
    from talops.pipeline.stage import Reporter
    from talops.stages.bundle import SecretsFile
    from talops.stages.fleet import State
    from talops.stages.site import Site

FIRST = "install"
UPDATE = "apply"
# A worker that cannot answer before a control plane has its config; then it gets what it lacks.
AWAIT = "await"
# Stages of a machine that is not where it will be in a moment.
ON_THE_WAY = frozenset({"installing", "rebooting", "shutting down", "resetting", "upgrading"})


@dataclass(frozen=True)
class NodeFacts:
    """`effect` is the node's own answer to a trial run of a config that differs."""

    state: State
    same: bool
    effect: ApplyMode | None = None
    differs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    nodes: Mapping[str, NodeFacts]


@dataclass(frozen=True)
class ConfigChange(Change):
    reboots: bool = False
    config: str = field(default="", repr=False)


class ApplyConfig:
    name = "apply-config"
    independent = True

    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._one_control_plane = asyncio.Lock()
        self._made: tuple[Fleet, dict[str, MachineConfig]] | None = None
        # Nodes that did not take their first config; control planes that left maintenance mode.
        self._refused: set[str] = set()
        self._left: set[str] = set()
        # What the last look saw, of nodes that nothing was done to since.
        self._seen: dict[str, NodeFacts] = {}

    @property
    def patience(self) -> float:
        """A node that reboots comes back."""
        return self._site.limits.boot

    async def observe(self) -> Facts | Absent:
        if await self._secrets.read() is None:
            return Absent("configure", "the cluster has no secrets yet")
        fleet, configs = await self._prepared()
        states = await fleet.look_at_all(self._site.chosen)
        all_answer([n for n in self._site.chosen if not self._excused(n, states)], states)
        facts = await asyncio.gather(
            *(self._judge(fleet, n, states[n.name], configs[n.name]) for n in self._site.chosen)
        )
        self._seen = {n.name: f for n, f in zip(self._site.chosen, facts, strict=True)}
        return Facts(dict(self._seen))

    def plan(self, facts: Facts) -> list[ConfigChange]:
        wanted = [self._wanted(node, facts.nodes[node.name]) for node in self._site.chosen]
        # Whoever waits for a control plane comes after all of them.
        return sorted(filter(None, wanted), key=lambda change: change.action == AWAIT)

    def _wanted(self, node: Node, seen: NodeFacts) -> ConfigChange | None:
        if isinstance(seen.state, Waiting):
            return self._change(FIRST, node, "first config: installs, then reboots")
        if isinstance(seen.state, Silent):
            return self._change(AWAIT, node, "silent until a control plane signs its certificate")
        if seen.same:
            return None
        reboots = seen.effect is ApplyMode.REBOOT
        detail = f"{', '.join(seen.differs)}: {'reboots' if reboots else 'without a reboot'}"
        return self._change(UPDATE, node, detail, reboots=reboots)

    def _excused(self, node: Node, states: Mapping[str, State]) -> bool:
        """A silent worker is no trouble where this very stage gives the control planes a config."""
        return not node.controller and nobody_signs(self._site.cluster.control_planes, states)

    async def apply(self, change: ConfigChange) -> None:
        node = next(n for n in self._site.cluster.nodes if n.name == change.node)
        self._seen.pop(node.name, None)
        fleet, _ = await self._prepared()
        if change.action == FIRST:
            await self._install(fleet, node, change)
        elif change.action == AWAIT:
            await self._await(fleet, node)
        elif change.reboots and node.controller:
            # One at a time: etcd keeps its majority only while the others stand.
            async with self._one_control_plane:
                await self._update(fleet, node, change)
        else:
            await self._update(fleet, node, change)

    async def verify(self) -> None:
        fleet, configs = await self._prepared()
        left = [node for node in self._site.chosen if not self._settled(node)]
        await asyncio.gather(*(self._wait(fleet, node, configs[node.name]) for node in left))

    def _settled(self, node: Node) -> bool:
        """Whether the last look found it with this config and in no change of its own."""
        seen = self._seen.get(node.name)
        if seen is None or not seen.same or not isinstance(seen.state, Configured):
            return False
        stage = seen.state.status.stage if seen.state.status else "unknown"
        self._report.node(node.name, talos=stage)
        return stage not in ON_THE_WAY

    async def _install(self, fleet: Fleet, node: Node, change: ConfigChange) -> None:
        try:
            with named(node, f"talops talos disks --insecure --nodes {node.address}"):
                async with fleet.maintenance(node) as talos:
                    await talos.machine.apply_configuration(change.config, mode=ApplyMode.AUTO)
        except TalopsError:
            self._refused.add(node.name)
            raise

    async def _await(self, fleet: Fleet, node: Node) -> None:
        """Until it says something; then it gets what it lacks."""
        _, configs = await self._prepared()

        async def probe() -> Ready[State] | NotYet:
            state = await fleet.look(node)
            if not isinstance(state, Silent):
                return Ready(state)
            return NotYet(await self._nobody_signed(fleet, node) or state.error.what)

        state = await wait_for(
            f"{node.name} answers",
            probe,
            timeout=self._site.limits.install,
            interval=self._site.limits.interval,
            hint=f"look at the console of {node.name}, then: talops up",
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )
        wanted = self._wanted(node, await self._judge(fleet, node, state, configs[node.name]))
        if wanted:
            await self.apply(wanted)

    async def _nobody_signed(self, fleet: Fleet, node: Node) -> str | None:
        """Why none can; an error if none took its config, or one came back without it."""
        planes = self._site.cluster.control_planes
        states = await fleet.look_at_all(planes)
        self._left |= {p.name for p in planes if not isinstance(states[p.name], Waiting)}
        if not nobody_signs(planes, states):
            return None
        if self._refused.issuperset(plane.name for plane in planes):
            raise TalopsError(
                f"{node.name} still waits for a control plane, and none took its config",
                where=str(node.address),
                hint="talops up, once the control planes are well",
            )
        plane = next((plane for plane in planes if plane.name in self._left), planes[0])
        _, configs = await self._prepared()
        trouble = await _install_trouble(fleet, plane, configs[plane.name])
        if plane.name in self._left:
            raise _back_again(plane, trouble)
        return f"{plane.name} is still in maintenance mode; {trouble}"

    async def _update(self, fleet: Fleet, node: Node, change: ConfigChange) -> None:
        with named(node, f"talops talos dmesg --nodes {node.address}"):
            async with fleet.talos(node) as talos:
                before = await talos.files.boot_id()
                applied = await talos.machine.apply_configuration(
                    change.config, mode=ApplyMode.AUTO
                )
        rebooted = applied.mode is ApplyMode.REBOOT
        _, configs = await self._prepared()
        await self._wait(fleet, node, configs[node.name], not_boot=before if rebooted else None)

    async def _wait(
        self, fleet: Fleet, node: Node, config: MachineConfig, not_boot: str | None = None
    ) -> None:
        """Until the node runs this config; after a reboot, in a new boot and ready again."""
        left = False  # maintenance mode, that is

        async def probe() -> Ready[None] | NotYet:
            nonlocal left
            state = await fleet.look(node)
            if isinstance(state, Waiting):
                reason = await _install_trouble(fleet, node, config)
                if left:
                    raise _back_again(node, reason)
                return NotYet(f"still in maintenance mode; {reason}")
            left = True
            if isinstance(state, Silent):
                return NotYet(f"no answer: {state.error.what}")
            stage = state.status.stage if state.status else "unknown"
            self._report.node(node.name, talos=stage)
            if stage in ON_THE_WAY:
                return NotYet(stage)
            if not same(state.config, config):
                return NotYet("it does not run the new config yet")
            if not_boot is not None:
                return await self._rebooted(fleet, node, not_boot, state)
            return Ready(None)

        await wait_for(
            f"{node.name} runs its config",
            probe,
            timeout=self._site.limits.install,
            interval=self._site.limits.interval,
            hint=f"look at its console, or: talops talos dmesg --nodes {node.address}",
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )

    async def _rebooted(
        self, fleet: Fleet, node: Node, not_boot: str, state: Configured
    ) -> Ready[None] | NotYet:
        async with fleet.talos(node) as talos:
            if await talos.files.boot_id() == not_boot:
                return NotYet("it has not rebooted yet")
        if state.status is None or not state.status.ready:
            unmet = state.status.unmet if state.status else ()
            return NotYet(f"not ready: {unmet[0][1] if unmet else 'booting'}")
        return Ready(None)

    async def _judge(
        self, fleet: Fleet, node: Node, state: State, config: MachineConfig
    ) -> NodeFacts:
        if not isinstance(state, Configured) or same(state.config, config):
            return NodeFacts(state, same=isinstance(state, Configured))
        async with fleet.talos(node) as talos:
            trial = await talos.machine.apply_configuration(config.to_yaml(), dry_run=True)
        return NodeFacts(
            state, same=False, effect=trial.mode, differs=differing(state.config, config)
        )

    def _change(
        self, action: str, node: Node, detail: str, *, reboots: bool = False
    ) -> ConfigChange:
        assert self._made
        config = self._made[1][node.name].to_yaml()
        return ConfigChange(action, node.name, detail, node.name, reboots, config)

    async def _prepared(self) -> tuple[Fleet, dict[str, MachineConfig]]:
        if self._made is None:
            bundle = await self._secrets.require()
            root = self._site.root

            def read_patch(name: str) -> str:
                return (root / name).read_text(encoding="utf-8")

            configs = build_configs(self._site.cluster, bundle, read_patch)
            self._made = await self._secrets.fleet(), configs
        return self._made


async def _install_trouble(fleet: Fleet, node: Node, config: MachineConfig) -> str:
    """What a node without a system can still be asked: its disks, beside the one it was told."""
    try:
        async with fleet.maintenance(node) as talos:
            disks = await talos.storage.disks()
    except TalopsError as error:
        return f"its disks cannot be read: {error.what}"
    shown = ", ".join(f"{d.device} ({d.size / 1e9:.0f} GB)" for d in disks if not d.readonly)
    main = next(document for document in config.documents if "machine" in document)
    install = main["machine"].get("install") or {}
    wanted = install.get("disk") or install.get("diskSelector") or "the disk it boots from"
    return f"it was told to install to {wanted} and has {shown or 'no disk'}"


def _back_again(node: Node, reason: str) -> TalopsError:
    return TalopsError(
        f"{node.name} took its config and came back to maintenance mode: "
        f"the installation failed; {reason}",
        where=str(node.address),
        hint=f"correct `disk` of {node.name} in nodes.yaml, or look at its console; "
        "then: talops up",
    )
