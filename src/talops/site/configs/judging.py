"""Compare the config of one node with the wanted one, and ask the node what it makes of it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.errors import NotReadyError, WaitTimeoutError
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
from talops.site.fleet import Configured, named
from talops.site.node_facts import NodeFacts
from talops.talos.calls.machine import ApplyMode
from talops.talos.errors import InvalidRequestError
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.inventory.model import Node
    from talops.machineconfig.generate import MachineConfig
    from talops.pipeline.stage import Reporter
    from talops.site.fleet import Fleet, State
    from talops.site.site import Site


class Judging:
    def __init__(self, site: Site, fleet: Callable[[], Awaitable[Fleet]], report: Reporter) -> None:
        self._site = site
        self._fleet = fleet
        self._report = report

    async def judge(self, node: Node, state: Configured, inventory: MachineConfig) -> NodeFacts:
        """Its versions of Kubernetes stay as they are: only an upgrade changes them."""
        if pending(state) and not same(state.stored or "", _kept(inventory, state)):
            after = await self._after_trial(node, state, inventory)
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
                    trial = await talos.machine.apply_configuration(facts.wanted, dry_run=True)
            except InvalidRequestError as error:
                if tag == self._site.cluster.talos_version:
                    raise
                # The config may be right for the version that the node is upgraded to first.
                raise NotReadyError(
                    f"{node.name} runs Talos {tag}, which refuses its config: {error.what}",
                    where=error.where,
                    hint="talops up",
                ) from error
        return replace(facts, effect=trial.mode, at_boot=at_boot)

    async def _after_trial(self, node: Node, state: Configured, inventory: MachineConfig) -> State:
        """A trial of an interrupted run ends automatically; one of the wanted config, without a
        reboot, does not have to. A config that someone staged stays: it is replaced.
        """
        fleet, config = await self._fleet(), _kept(inventory, state)
        if same(state.config, config):
            async with fleet.talos(node) as talos:
                tag = (await talos.version()).tag
            if not waiting_for_reboot(state.stored or "", config, tag):
                return state
        found: State = state

        async def probe() -> Ready[None] | NotYet:
            nonlocal found
            found = await fleet.look(node)
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
        return found


def _kept(inventory: MachineConfig, state: Configured) -> MachineConfig:
    return hold_as(inventory, state.config).config
