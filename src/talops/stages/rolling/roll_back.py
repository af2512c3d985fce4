"""Stage `rollback`: one node boots the system that it ran before its last upgrade."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import TalopsError
from talops.pipeline.stage import Absent, Change, Stage
from talops.rolls.marks import mark_of
from talops.rolls.rolling import Rolling
from talops.rolls.turn import Turn
from talops.site.fleet import Configured, all_answer
from talops.talos.errors import OutcomeUnknownError
from talops.upgrades.seen import look_at

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.rolls.marks import Mark
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.upgrades.seen import NodeSeen

# Recorded on the Node instead of an image: what is to boot is on the disk already.
PREVIOUS = "the previous system"


@dataclass(frozen=True)
class Facts:
    """`done`: an interrupted rollback has restarted the node; it only has to return to service."""

    seen: NodeSeen
    done: bool = False


@dataclass(frozen=True)
class RollbackChange(Change):
    done: bool = False

    @property
    def impact(self) -> Impact:
        return Impact.CHANGES if self.done else Impact.RESTARTS


class RollBack(Stage[Facts, RollbackChange]):
    name = "rollback"

    def __init__(
        self,
        site: Site,
        node: Node,
        secrets: SecretsFile,
        report: Reporter,
        rolling: Rolling | None = None,
    ) -> None:
        self._node = node
        self._secrets = secrets
        self._report = report
        self._rolling = rolling or Rolling(site)
        # An interrupted rollback may have restarted it a moment ago.
        self.patience = site.limits.boot

    async def observe(self) -> Facts | Absent:
        if await self._secrets.read() is None:
            return Absent("configure", "the cluster has no secrets yet")
        fleet = await self._secrets.fleet()
        state = await fleet.look(self._node)
        all_answer([self._node], {self._node.name: state})
        if not isinstance(state, Configured):
            raise TalopsError(
                f"{self._node.name} is in maintenance mode: it has no system to return to",
                where=str(self._node.address),
                hint="talops up",
            )
        mark = mark_of((await self._rolling.roller.kube.nodes()).get(self._node.name, _BARE))
        async with fleet.talos(self._node) as talos:
            boot = await talos.files.boot_id()
        begun = mark is not None and mark.installed == PREVIOUS
        done = begun and mark is not None and mark.boot != boot
        return Facts(await look_at(fleet, self._node), done)

    def plan(self, facts: Facts) -> list[RollbackChange]:
        name, runs = self._node.name, facts.seen.talos
        if facts.done:
            detail = f"it runs Talos {runs} again and returns to service"
            return [RollbackChange("return", name, detail, name, done=True)]
        return [
            RollbackChange(
                "roll back", name, f"from Talos {runs} to the system before its upgrade", name
            )
        ]

    async def apply(self, change: RollbackChange) -> None:
        turn = Turn(self._node, "rollback")
        if not change.done:
            fleet = await self._secrets.fleet()
            before = await look_at(fleet, self._node)
            turn = replace(
                turn,
                act=self._act,
                prepare=_remember,
                arrived=lambda: self._arrived(before),
            )
        await self._rolling.roller.roll([turn], self._report)

    async def verify(self, _: Seen[Facts, RollbackChange], /) -> None:
        """The roll has proven it: the node is ready, and what it runs now is known."""
        now = await look_at(await self._secrets.fleet(), self._node)
        self._report.note(
            f"{self._node.name} runs Talos {now.talos}",
            hint="set talos_version to it, or run talops up to upgrade the node again",
        )

    async def _act(self) -> None:
        async with (await self._secrets.fleet()).talos(self._node) as talos:
            # A lost answer is not a failure: the next boot shows what the node did.
            with contextlib.suppress(OutcomeUnknownError):
                await talos.machine.rollback()

    async def _arrived(self, before: NodeSeen) -> str:
        now = await look_at(await self._secrets.fleet(), self._node)
        if (now.talos, now.schematic) == (before.talos, before.schematic):
            raise TalopsError(
                f"{self._node.name} runs Talos {now.talos} as before: it has no other system",
                where=str(self._node.address),
                hint="talops up",
            )
        return ""


_BARE: dict[str, dict[str, str]] = {"metadata": {}}


async def _remember(mark: Mark) -> Mark:
    """A second run must not return to the system that this one leaves."""
    return replace(mark, installed=PREVIOUS)
