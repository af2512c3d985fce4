"""The upgrade of one node: written while it serves, booted when its pods are elsewhere.

Talos since 1.13 writes the new system beside the running one and leaves the rest to the caller.
Before, one call writes it and reboots; its flags `force`, `preserve` and `stage` are never set,
because they skip the node's own check of etcd.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.rolls.turn import Turn
from talops.talos.calls.upgrade import Dialect, dialect_of
from talops.talos.errors import CallFailedError, OutcomeUnknownError, PreconditionError
from talops.upgrades.pulling import pull
from talops.upgrades.seen import look_at
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter
    from talops.rolls.marks import Mark
    from talops.site.fleet import Fleet
    from talops.site.site import Limits
    from talops.upgrades.seen import Goal, NodeSeen


class RolledBackError(TalopsError):
    """The node booted its old system: the boot loader does this if the new one does not start."""


@dataclass(frozen=True)
class TalosTurn:
    """`seen`: what the node ran when the upgrade was planned."""

    node: Node
    seen: NodeSeen
    goal: Goal
    fleet: Fleet
    limits: Limits
    report: Reporter

    def turn(self) -> Turn:
        return Turn(
            self.node,
            f"Talos {self.goal.version}",
            act=self._act,
            prepare=self._prepare,
            arrived=self._arrived,
        )

    async def _prepare(self, mark: Mark) -> Mark:
        """Write the new system. One that was written in this boot only has to be booted."""
        if await self._dialect() is Dialect.LEGACY:
            return mark
        if mark.installed == self.goal.image:
            self.report.log(f"{self.node.name}: {self.goal.image} is installed, not booted yet")
            return mark
        await wait_for(
            f"{self.node.name} to install Talos {self.goal.version}",
            self._install,
            timeout=self.limits.install,
            interval=self.limits.interval,
            report=lambda waiting: self.report.waiting(waiting, node=self.node.name),
        )
        return replace(mark, installed=self.goal.image)

    async def _install(self) -> Ready[None] | NotYet:
        """A node refuses two installations at once: that of an interrupted run may still run."""
        try:
            name = await pull(self.fleet, self.node, self.goal.image)
            async with self.fleet.talos(self.node) as talos:
                async for line in talos.upgrade.install(name):
                    self.report.log(f"{self.node.name}: {line}")
        except PreconditionError as error:
            return NotYet(error.what)
        except CallFailedError as error:
            error.hint = (
                f"{self.node.name} still runs Talos {self.seen.talos}; "
                f"talops talos dmesg --nodes {self.node.address}; then: talops up"
            )
            raise
        return Ready(None)

    async def _act(self) -> None:
        dialect = await self._dialect()
        async with self.fleet.talos(self.node) as talos:
            # A lost answer is not a failure: the next boot shows what the node did.
            with contextlib.suppress(OutcomeUnknownError):
                if dialect is Dialect.LEGACY:
                    await talos.upgrade.legacy(self.goal.image)
                else:
                    await talos.machine.reboot()

    async def _arrived(self) -> str:
        """Called in a new boot that is complete: what runs now does not change any more."""
        now = await look_at(self.fleet, self.node)
        if now.runs(self.goal):
            return ""
        if (now.talos, now.schematic) == (self.seen.talos, self.seen.schematic):
            raise RolledBackError(
                f"{self.node.name} runs Talos {now.talos} again: the new system did not start, so "
                "the boot loader returned to the old one",
                where=str(self.node.address),
                hint=f"talops talos dmesg --nodes {self.node.address}; to try again: talops up; "
                "to return a node that was upgraded before: talops rollback NODE",
            )
        raise TalopsError(
            f"{self.node.name} runs Talos {now.talos} with schematic {now.schematic or 'none'} "
            f"instead of {self.goal.version} with {self.goal.schematic}",
            where=str(self.node.address),
            hint="another upgrade of this node took place; then: talops up",
        )

    async def _dialect(self) -> Dialect:
        async with self.fleet.talos(self.node) as talos:
            return dialect_of((await talos.version()).release)
