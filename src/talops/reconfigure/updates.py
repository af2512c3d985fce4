"""Change the config of a node that serves a cluster: live, with a trial, or by a reboot."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from talops.errors import ConflictError
from talops.machineconfig.generate import MachineConfig
from talops.machineconfig.kubernetes_images import hold_as
from talops.machineconfig.origins import origins
from talops.reconfigure.trial import Trial, TrialError, config_to_try
from talops.site.config_differences import documents_of, pending, same
from talops.site.fleet import Configured, Unreachable, named
from talops.site.patch_texts import patch_reader
from talops.talos.calls.machine import ApplyMode
from talops.talos.errors import CallFailedError, OutcomeUnknownError
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.reconfigure.trial import Proof
    from talops.site.node_configs import NodeConfigs
    from talops.site.node_facts import ConfigChange
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


class ConfigUpdates:
    def __init__(
        self, site: Site, secrets: SecretsFile, configs: NodeConfigs, report: Reporter
    ) -> None:
        self._site = site
        self._secrets = secrets
        self._configs = configs
        self._report = report

    async def live(self, node: Node, change: ConfigChange, proof: Proof) -> None:
        """Apply it to the running node, after a trial if it could cut the node off."""
        change = await self._held(node, change)
        if change.cuts:
            await self._try(node, change, proof)
        await self._apply(node, change.config, ApplyMode.NO_REBOOT)
        await self._configs.wait(node)

    async def rehearse(self, node: Node, change: ConfigChange, proof: Proof) -> None:
        """Before a reboot with this config: its live part is tried, and taken back.

        The node must run its old config until the reboot: a run that ends in between finds by that
        difference that the reboot is still to be done.
        """
        change = await self._held(node, change)
        if change.cuts and not change.trying and (old := await self._try(node, change, proof)):
            await self._apply(node, old, ApplyMode.NO_REBOOT)

    async def reboot(self, node: Node, change: ConfigChange) -> None:
        """The node stores the config, and activates it by the reboot."""
        change = await self._held(node, change)
        await self._apply(node, change.config, ApplyMode.STAGED)
        fleet = await self._configs.fleet()
        async with fleet.talos(node) as talos:
            # A lost answer is not a failure: the boot ID shows whether it reboots.
            with contextlib.suppress(OutcomeUnknownError):
                await talos.machine.reboot()

    async def missing(self, node: Node, change: ConfigChange) -> str:
        """What is missing until the node runs its config; empty if nothing is."""
        state = await (await self._configs.fleet()).look(node)
        if not isinstance(state, Configured):
            return state.error.what if isinstance(state, Unreachable) else "in maintenance mode"
        runs = same(state.config, hold_as(_config_of(node, change), state.config).config)
        return "" if runs else "it does not run the new config yet"

    async def _held(self, node: Node, change: ConfigChange) -> ConfigChange:
        """With the versions of Kubernetes of now: another program may have raised them since the
        plan, and a config never lowers them.
        """
        state = await (await self._configs.fleet()).look(node)
        if not isinstance(state, Configured):
            return change
        kept = hold_as(_config_of(node, change), state.config)
        return replace(change, config=kept.config.to_yaml()) if kept.held else change

    async def _try(self, node: Node, change: ConfigChange, proof: Proof) -> str:
        """The config that the node had before; empty if nothing of the change could be tried."""
        fleet, wanted = await self._configs.fleet(), _config_of(node, change)
        trial = Trial(fleet, node, self._site.limits, self._report, proof)
        state = await self._running(node)
        if same(state.config, wanted):  # an interrupted run began this trial
            if await trial.confirm(wanted):
                return state.config
            state = await self._running(node)
            if pending(state):
                raise TrialError(
                    f"{node.name} runs a config that it has not stored, and does not work with it",
                    where=str(node.address),
                    hint=f"talops talos reboot --nodes {node.address}: it starts with its stored "
                    "config; then: talops up",
                )
        async with fleet.talos(node) as talos:
            tag = (await talos.version()).tag
        tried = config_to_try(state.config, wanted, tag)
        if same(state.config, tried):
            return ""
        try:
            await trial.run(state.config, tried)
        except TrialError as error:
            await self._explain(node, change, error)
        return state.config

    async def _running(self, node: Node) -> Configured:
        state = await (await self._configs.fleet()).look(node)
        if isinstance(state, Configured):
            return state
        raise ConflictError(
            f"{node.name} does not answer any more, so its new config cannot be tried",
            where=str(node.address),
            hint="talops up",
        )

    async def _explain(self, node: Node, change: ConfigChange, error: TrialError) -> NoReturn:
        site = self._site
        places = origins(
            site.cluster,
            await self._secrets.require(),
            await patch_reader(site.cluster, site.root, site.sops),
            node,
            change.cuts,
        )
        error.where = ", ".join(places) or f"{node.name}: cluster.yaml, nodes.yaml"
        error.hint = error.hint or f"correct {', '.join(change.cuts)} there, then: talops up"
        raise error

    async def _apply(self, node: Node, config: str, mode: ApplyMode) -> None:
        fleet = await self._configs.fleet()

        hint = f"talops talos dmesg --nodes {node.address}; then: talops up"

        async def hand_over() -> Ready[None] | NotYet:
            try:
                async with fleet.talos(node) as talos:
                    await talos.machine.apply_configuration(config, mode=mode)
            except CallFailedError as error:
                error.hint = hint
                raise
            return Ready(None)

        with named(node, hint):
            await wait_for(
                f"{node.name} to accept its config",
                hand_over,
                timeout=self._site.limits.install,
                interval=self._site.limits.interval,
                hint=hint,
                report=lambda waiting: self._report.waiting(waiting, node=node.name),
            )


def _config_of(node: Node, change: ConfigChange) -> MachineConfig:
    return MachineConfig(node.name, node.controller, tuple(documents_of(change.config)))
