"""Deliver machine configs to nodes: compare, apply, wait. Shared by two stages."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from talops.errors import UnreachableError
from talops.machineconfig.build import build_configs
from talops.machineconfig.kubernetes_images import hold, hold_as
from talops.site import installation
from talops.site.config_differences import same
from talops.site.configs.judging import Judging
from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.site.enrolment.enrolling import Enrolment
from talops.site.etcd_guard import require_etcd
from talops.site.fleet import Configured, InMaintenance, Unreachable, named
from talops.site.joining import joins_etcd, wait_for_others, wait_until_voting
from talops.site.kubernetes_running import versions_of_new_nodes
from talops.site.node_facts import AWAIT, FIRST, NodeFacts, change_for
from talops.site.patch_texts import patch_reader
from talops.talos.calls.machine import ApplyMode
from talops.talos.errors import (
    ConfiguredError,
    NotAuthorizedError,
    OutcomeUnknownError,
    PreconditionError,
)
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from talops.inventory.model import Node
    from talops.machineconfig.generate import MachineConfig
    from talops.machineconfig.kubernetes_images import Versions
    from talops.pipeline.stage import Reporter
    from talops.site.fleet import Fleet, State
    from talops.site.node_facts import ConfigChange
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.talos.calls.machine import Applied
    from talops.waiting import Waiting

T = TypeVar("T")

# Errors of a node that already has its first config, or is applying it.
ON_ITS_WAY = (PreconditionError, ConfiguredError, NotAuthorizedError, UnreachableError)
# Stages in which a machine does not stay.
ON_THE_WAY = frozenset({"installing", "rebooting", "shutting down", "resetting", "upgrading"})


class NodeConfigs:
    def __init__(
        self,
        site: Site,
        secrets: SecretsFile,
        report: Reporter,
        allow_unhealthy_etcd: Collection[str] = (),
        admission: Admission = NOTHING_SAID,
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report
        self._allowed = allow_unhealthy_etcd
        self._enrolment = Enrolment(site, report, admission)
        self._restores_etcd = admission.restores_etcd
        self._judging = Judging(site, self.fleet, report)
        self._one_control_plane = asyncio.Lock()
        self._configs: dict[str, MachineConfig] | None = None

    async def fleet(self) -> Fleet:
        return await self._secrets.fleet()

    async def facts(
        self, nodes: Sequence[Node], states: Mapping[str, State]
    ) -> dict[str, NodeFacts]:
        waiting = [node for node in nodes if isinstance(states[node.name], InMaintenance)]
        fleet, planes = await self.fleet(), self._site.cluster.control_planes
        new = any(not isinstance(states[node.name], Configured) for node in nodes)
        versions = await versions_of_new_nodes(fleet, planes, states) if new else {}
        candidates, judged = await asyncio.gather(
            self._enrolment.examine(fleet, waiting),
            asyncio.gather(*(self._judge(node, states[node.name], versions) for node in nodes)),
        )
        return {
            node.name: replace(facts, candidate=candidates.get(node.name))
            for node, facts in zip(nodes, judged, strict=True)
        }

    async def bring(self, change: ConfigChange) -> None:
        """Apply the config to one node; `wait` proves that the node runs it."""
        node = next(n for n in self._site.cluster.nodes if n.name == change.node)
        if change.action == FIRST:
            await self._first(node, change)
        elif change.action == AWAIT:
            await self._settle(node)
        elif change.reboots and node.controller:
            # One at a time: etcd keeps its majority only while the other members run.
            async with self._one_control_plane:
                await self._update(node, change)
        else:
            await self._update(node, change)

    async def wait(self, node: Node, not_boot: str | None = None) -> None:
        """Wait until the node runs its config; after a reboot, until it is ready in a new boot."""
        config, fleet = await self.wanted(node), await self.fleet()
        left = False  # whether it left maintenance mode

        async def probe() -> Ready[None] | NotYet:
            nonlocal left
            state = await fleet.look(node)
            if isinstance(state, InMaintenance):
                return await installation.in_maintenance(fleet, node, config, again=left)
            left = True
            if isinstance(state, Unreachable):
                return NotYet(state.error.what)
            return await self._arrived(node, state, config, not_boot)

        hint = f"check its console, or: talops talos dmesg --nodes {node.address}"
        await self._wait_for(f"{node.name} to run its config", node, probe, hint)

    async def wanted(self, node: Node) -> MachineConfig:
        """As the inventory has it, with its versions of Kubernetes."""
        return (await self._wanted())[node.name]

    async def keep(self, nodes: Iterable[Node]) -> None:
        """Record that these nodes run their config: in maintenance mode they get none again."""
        await self._enrolment.keep(await self.fleet(), nodes)

    def settled(self, node: Node, seen: NodeFacts | None) -> bool:
        """Whether the last observation found the node with its config and in a stable stage."""
        if seen is None or not seen.same or not isinstance(seen.state, Configured):
            return False
        stage = seen.state.status.stage if seen.state.status else "unknown"
        self._report.node(node.name, talos=stage)
        return stage not in ON_THE_WAY

    async def _judge(self, node: Node, state: State, of_new: Versions) -> NodeFacts:
        """`of_new`: the versions of Kubernetes for a node that has no config yet."""
        inventory = await self.wanted(node)
        if not isinstance(state, Configured):
            return NodeFacts(state, same=False, wanted=hold(inventory, of_new).config.to_yaml())
        return await self._judging.judge(node, state, inventory)

    async def _first(self, node: Node, change: ConfigChange) -> None:
        fleet = await self.fleet()
        # What is restored afterwards cannot admit members now.
        if self._restores_etcd or not await joins_etcd(fleet, self._site, node):
            await self._install(node, change)
            return

        def report(waiting: Waiting) -> None:
            self._report.waiting(waiting, node=node.name)

        async with self._one_control_plane:
            await wait_for_others(fleet, self._site, node, report)
            await self._install(node, change)
            await self.wait(node)
            await wait_until_voting(fleet, self._site, node, report)

    async def _install(self, node: Node, change: ConfigChange) -> None:
        if await self._refused(node, change.config):
            await self._settle(node)

    async def _refused(self, node: Node, config: str) -> NotYet | None:
        """None if it accepted its first config; otherwise why not.

        Only a node that already has a config requires authentication, and one that accepted it a
        moment ago may not answer at all.
        """
        fleet = await self.fleet()
        with named(node, f"talops talos disks --insecure --nodes {node.address}"):
            try:
                await self._enrolment.hand_over(fleet, node, config)
            except ON_ITS_WAY as error:
                return NotYet(error.what)
        return None

    async def _settle(self, node: Node) -> None:
        """Wait until the node answers, then apply what it lacks."""
        fleet, planes = await self.fleet(), self._site.cluster.control_planes

        async def probe() -> Ready[ConfigChange | None] | NotYet:
            state = await fleet.look(node)
            if isinstance(state, Unreachable):
                return NotYet(state.error.what)
            new = not isinstance(state, Configured)
            versions = await versions_of_new_nodes(fleet, planes, {}) if new else {}
            wanted = change_for(node.name, await self._judge(node, state, versions))
            if wanted is None or wanted.action != FIRST:
                return Ready(wanted)
            return await self._refused(node, wanted.config) or Ready(None)

        hint = f"check the console of {node.name}, then: talops up"
        wanted = await self._wait_for(f"{node.name} to answer", node, probe, hint)
        if wanted:
            await self.bring(wanted)

    async def _update(self, node: Node, change: ConfigChange) -> None:
        """Stage a config that requires a reboot, so that the reboot activates it.

        A run that ends between the two steps finds the old config active and repeats both. If the
        config were applied first, the next run would find nothing left to do.
        """
        fleet = await self.fleet()
        mode = ApplyMode.STAGED if change.reboots else ApplyMode.AUTO
        if change.reboots:
            await require_etcd(fleet, self._site.cluster.control_planes, node, self._allowed)

        async def hand_over() -> Ready[Applied] | NotYet:
            async with fleet.talos(node) as talos:
                return Ready(await talos.machine.apply_configuration(change.config, mode=mode))

        hint = f"talops talos dmesg --nodes {node.address}"
        with named(node, hint):
            async with fleet.talos(node) as talos:
                before = await talos.files.boot_id()
            applied = await self._wait_for(
                f"{node.name} to accept its config", node, hand_over, hint
            )
            if change.reboots:
                async with fleet.talos(node) as talos:
                    # A lost answer is not a failure: the boot ID shows whether it reboots.
                    with contextlib.suppress(OutcomeUnknownError):
                        await talos.machine.reboot()
        rebooted = change.reboots or applied.mode is ApplyMode.REBOOT
        await self.wait(node, not_boot=before if rebooted else None)

    async def _arrived(
        self, node: Node, state: Configured, config: MachineConfig, not_boot: str | None
    ) -> Ready[None] | NotYet:
        if reason := await self._unfinished(node, state, config):
            return NotYet(reason)
        if not_boot is None:
            return Ready(None)
        async with (await self.fleet()).talos(node) as talos:
            if await talos.files.boot_id() == not_boot:
                return NotYet("it has not rebooted yet")
        if state.status is None or not state.status.ready:
            why = state.status.reasons if state.status else ""
            return NotYet(f"not ready: {why or 'booting'}")
        return Ready(None)

    async def _unfinished(self, node: Node, state: Configured, config: MachineConfig) -> str:
        stage = state.status.stage if state.status else "unknown"
        self._report.node(node.name, talos=stage)
        if stage in ON_THE_WAY:
            return stage
        if not same(state.config, hold_as(config, state.config).config):
            return "it does not run the new config yet"
        return await installation.unfinished(await self.fleet(), node, config)

    async def _wait_for(
        self, what: str, node: Node, probe: Callable[[], Awaitable[Ready[T] | NotYet]], hint: str
    ) -> T:
        return await wait_for(
            what,
            probe,
            timeout=self._site.limits.install,
            interval=self._site.limits.interval,
            hint=hint,
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )

    async def _wanted(self) -> dict[str, MachineConfig]:
        if self._configs is None:
            bundle = await self._secrets.require()
            site = self._site
            read_patch = await patch_reader(site.cluster, site.root, site.sops)
            self._configs = build_configs(self._site.cluster, bundle, read_patch)
        return self._configs
