"""Try a config that could cut a node off: if it is not confirmed, the node reverts it.

Talos keeps a tried config in memory only, and returns to the one before after a time. Every other
apply, even a dry run or a rejected one, ends that timer (v1alpha1_server.go of 1.12.11, 1.13.9 and
1.14.0-rc.1), so that nothing else is sent to a node while a trial is pending.
"""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from talops.errors import TalopsError, UnreachableError, WaitTimeoutError
from talops.machineconfig.effects import applies_live, live_part
from talops.machineconfig.generate import MachineConfig
from talops.machineconfig.patches.identity import identify
from talops.site.config_differences import documents_of, same
from talops.site.fleet import Configured
from talops.talos.calls.machine import ApplyMode
from talops.talos.kinds import CONFIG_ID, MACHINE_CONFIG, MACHINE_ID, MACHINE_STATUS
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.site.fleet import Fleet
    from talops.site.site import Limits

# Part of a trial that is kept for the apply that confirms it.
RESERVE = 0.15


class TrialError(TalopsError):
    """The node does not work with the tried config, and runs the config before it."""


class Proof(Protocol):
    """What proves, besides the answer of the node itself, that it works with a config."""

    async def before(self) -> None:
        """Remember what works now: only that can be demanded afterwards."""
        ...

    async def missing(self) -> str:
        """What is not proven yet; empty if everything is."""
        ...


class NoProof(Proof):
    """Before the cluster is bootstrapped, the node itself is all there is."""

    async def before(self) -> None:
        return

    async def missing(self) -> str:
        return ""


def config_to_try(running: str, wanted: MachineConfig, talos_version: str) -> MachineConfig:
    """What can be tried of it: Talos up to 1.13 rejects a trial of what it reboots for."""
    if applies_live(talos_version):
        return wanted
    now = next((d for d in documents_of(running) if identify(d).is_main), {})
    tried = [live_part(now, d) if identify(d).is_main else d for d in wanted.documents]
    return MachineConfig(wanted.node, wanted.control_plane, tuple(tried))


class Trial:
    def __init__(
        self, fleet: Fleet, node: Node, limits: Limits, report: Reporter, proof: Proof
    ) -> None:
        self._fleet = fleet
        self._node = node
        self._limits = limits
        self._report = report
        self._proof = proof

    async def run(self, running: str, tried: MachineConfig) -> None:
        """Afterwards the node still runs it, with the timer; or an error, with the old config."""
        await self._proof.before()
        async with self._fleet.talos(self._node) as talos:
            # Changes nothing. From now on the node also shows which config it has stored: another
            # run recognizes by it that a trial is pending.
            await talos.machine.apply_configuration(running, mode=ApplyMode.NO_REBOOT)
        started = time.monotonic()
        async with self._fleet.fresh(self._node) as talos:
            # The answer may be the first thing that the config cuts off.
            with contextlib.suppress(UnreachableError):
                await talos.machine.apply_configuration(
                    tried.to_yaml(),
                    mode=ApplyMode.TRY,
                    try_timeout=timedelta(seconds=self._limits.trial),
                )
        if reason := await self._unconfirmed(tried, started):
            await self._reverted(tried, reason)
            raise TrialError(
                f"{self._node.name} does not work with its new config and runs the old one again; "
                f"last reason: {reason}"
            )

    async def confirm(self, running: MachineConfig) -> bool:
        """Whether a config proves itself that the node runs although it has not stored it."""
        with contextlib.suppress(UnreachableError):
            await self._proof.before()
            return not await self._unconfirmed(running, time.monotonic())
        return False

    async def _unconfirmed(self, tried: MachineConfig, started: float) -> str:
        last = ""

        async def probe() -> Ready[None] | NotYet:
            nonlocal last
            try:
                last = await self._missing(tried, started)
            except UnreachableError as error:
                last = error.what
            return NotYet(last) if last else Ready(None)

        with contextlib.suppress(WaitTimeoutError):
            await wait_for(
                f"{self._node.name} to prove its new config",
                probe,
                timeout=self._limits.trial * (1 - RESERVE),
                interval=self._limits.interval,
                report=lambda waiting: self._report.waiting(waiting, node=self._node.name),
            )
        return last

    async def _missing(self, tried: MachineConfig, started: float) -> str:
        async with self._fleet.fresh(self._node) as talos:
            status = await talos.resources.find(MACHINE_STATUS, MACHINE_ID)
            if status is None or status.stage != "running" or not status.ready:
                return f"not ready: {status.reasons or status.stage}" if status else "booting"
            if time.monotonic() - started < self._limits.settle:
                return "it answers; a change of the network may take a moment"
            if reason := await self._proof.missing():
                return reason
            # Last: what was proven must have been proven with this config.
            active = await talos.resources.find(MACHINE_CONFIG, CONFIG_ID)
        return "" if same(active or "", tried) else "it does not run the new config"

    async def _reverted(self, tried: MachineConfig, reason: str) -> None:
        """Wait until the timer of the node has ended the trial."""
        node = self._node

        async def probe() -> Ready[None] | NotYet:
            state = await self._fleet.look(node)
            if not isinstance(state, Configured):
                return NotYet("it does not answer")
            if same(state.config, tried):
                return NotYet("it still runs the new config")
            return Ready(None)

        try:
            await wait_for(
                f"{node.name} to run its old config again",
                probe,
                timeout=self._limits.trial + self._limits.boot,
                interval=self._limits.interval,
                report=lambda waiting: self._report.waiting(waiting, node=node.name),
            )
        except WaitTimeoutError as error:
            raise TrialError(
                f"{node.name} does not work with its new config ({reason}) and has not returned to "
                "the old one, which it has stored",
                where=str(node.address),
                hint=f"restart the VM of {node.name} in Proxmox; then correct the config",
            ) from error
