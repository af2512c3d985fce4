"""Compare the config of one node with the wanted one, and ask the node what it makes of it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.errors import NotReadyError, TalopsError, WaitTimeoutError
from talops.machineconfig.costs import consequences
from talops.machineconfig.kubernetes_images import hold_as
from talops.machineconfig.shared_secrets import other_secrets
from talops.site.config_differences import (
    differing,
    documents_of,
    pending,
    same,
    stored_differs,
    waiting_for_reboot,
)
from talops.site.fleet import Configured, Unreachable, named
from talops.site.node_facts import NodeFacts
from talops.talos.calls.machine import ApplyMode
from talops.talos.errors import InvalidRequestError, PreconditionError
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.inventory.model import Node
    from talops.machineconfig.generate import MachineConfig
    from talops.pipeline.stage import Reporter
    from talops.site.fleet import Fleet, State
    from talops.site.site import Site
    from talops.talos.client import Talos


class Judging:
    def __init__(self, site: Site, fleet: Callable[[], Awaitable[Fleet]], report: Reporter) -> None:
        self._site = site
        self._fleet = fleet
        self._report = report

    async def judge(self, node: Node, state: Configured, inventory: MachineConfig) -> NodeFacts:
        """Its versions of Kubernetes stay as they are: only an upgrade changes them."""
        if pending(state) and await self._must_end(node, state, _kept(inventory, state)):
            after = await self._after_trial(node, state)
            if not isinstance(after, Configured):
                return NodeFacts(after, same=False, wanted=inventory.to_yaml())
            state = after
        kept = hold_as(inventory, state.config)
        config = kept.config
        trying = same(state.config, config)
        if trying and not stored_differs(state, config):
            return NodeFacts(state, same=True, wanted=config.to_yaml(), held=kept.held)
        old = (state.stored or "") if trying else state.config
        now = documents_of(old)
        facts = NodeFacts(
            state,
            same=False,
            effect=ApplyMode.NO_REBOOT,
            differs=differing(old, config),
            wanted=config.to_yaml(),
            held=kept.held,
            costs=consequences(now, config.documents) if now else (),
            trying=trying,
            others=other_secrets(now, config.documents),
        )
        return facts if facts.others else await self._asked(node, facts, old, config)

    async def _asked(
        self, node: Node, facts: NodeFacts, old: str, config: MachineConfig
    ) -> NodeFacts:
        """With the answer of the node: it may reject the config, or reboot for it.

        A dry run would end a trial that is pending: the node would keep its unconfirmed config.
        """
        async with (await self._fleet()).talos(node) as talos:
            tag = (await talos.version()).tag
            at_boot = waiting_for_reboot(old, config, tag)
            if facts.trying:
                return replace(facts, at_boot=at_boot)
            try:
                with named(node, "correct the inventory or its patches, then: talops up"):
                    effect = await self._dry_run(node, talos, facts.wanted)
            except InvalidRequestError as error:
                if tag == self._site.cluster.talos_version:
                    raise
                # The config may be right for the version that the node is upgraded to first.
                raise NotReadyError(
                    f"{node.name} runs Talos {tag}, which refuses its config: {error.what}",
                    where=error.where,
                    hint="talops up",
                ) from error
        return replace(facts, effect=effect, at_boot=at_boot)

    async def _dry_run(self, node: Node, talos: Talos, config: str) -> ApplyMode:
        """A node checks one config at a time, and stages look at it in parallel."""

        async def probe() -> Ready[ApplyMode | TalopsError] | NotYet:
            try:
                found = await talos.machine.apply_configuration(config, dry_run=True)
            except PreconditionError as error:
                return NotYet(error.what)
            except TalopsError as error:
                return Ready(error)
            return Ready(found.mode)

        answer = await wait_for(
            f"{node.name} to check its config",
            probe,
            timeout=self._site.limits.boot,
            interval=self._site.limits.interval,
            report=lambda waiting: self._report.waiting(waiting, node=node.name),
        )
        if isinstance(answer, TalopsError):
            raise answer
        return answer

    async def _must_end(self, node: Node, state: Configured, config: MachineConfig) -> bool:
        """Not a config that waits for its reboot, and not a trial that only has to be confirmed."""
        async with (await self._fleet()).talos(node) as talos:
            tag = (await talos.version()).tag
        stored = state.stored or ""
        if same(stored, config):
            return not waiting_for_reboot(state.config, config, tag)
        return not same(state.config, config) or bool(waiting_for_reboot(stored, config, tag))

    async def _after_trial(self, node: Node, state: Configured) -> State:
        """A trial ends automatically. A config that someone staged stays: it is replaced."""
        fleet = await self._fleet()
        found: State = state

        async def probe() -> Ready[None] | NotYet:
            nonlocal found
            found = await fleet.look(node)
            if isinstance(found, Unreachable):
                return NotYet(found.error.what)
            if isinstance(found, Configured) and pending(found):
                return NotYet("it runs a config that it has not stored")
            return Ready(None)

        with contextlib.suppress(WaitTimeoutError):
            await wait_for(
                f"the trial of a config to end on {node.name}",
                probe,
                timeout=self._site.limits.trial,
                interval=self._site.limits.interval,
                report=lambda waiting: self._report.waiting(waiting, node=node.name),
            )
        if isinstance(found, Unreachable):
            raise found.error
        return found


def _kept(inventory: MachineConfig, state: Configured) -> MachineConfig:
    return hold_as(inventory, state.config).config
