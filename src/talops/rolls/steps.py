"""The steps of one turn: each looks at the world first, so that a repeated turn goes on."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from talops.errors import TalopsError, UnreachableError, WaitTimeoutError
from talops.events import PartProgress
from talops.kube.conditions import condition
from talops.kube.drain import DrainOptions, drain
from talops.kube.objects import Ref
from talops.rolls.etcd import forfeit, wait_for_etcd
from talops.rolls.marks import Mark, begin, end, is_cordoned, keep, mark_of
from talops.rolls.returning import Returning
from talops.rolls.turn import Step
from talops.rolls.volumes import wait_detached
from talops.talos.errors import MaintenanceModeError, OutcomeUnknownError
from talops.talos.kinds import NODENAME, NODENAME_ID
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from talops.inventory.model import Node
    from talops.kube.client import KubeClient
    from talops.kube.objects import Object
    from talops.pipeline.stage import Reporter
    from talops.rolls.kube_access import KubeAccess
    from talops.rolls.options import RollOptions
    from talops.rolls.turn import Turn
    from talops.site.fleet import Fleet
    from talops.site.site import Site
    from talops.waiting import Waiting

T = TypeVar("T")


class Steps:
    """One node: taken out of service, changed, waited for, and returned."""

    def __init__(
        self,
        turn: Turn,
        site: Site,
        fleet: Fleet,
        kube: KubeAccess,
        options: RollOptions,
        report: Reporter,
    ) -> None:
        self._turn = turn
        self._site = site
        self._fleet = fleet
        self._kube = kube
        self._options = options
        self._report = report
        self._name = turn.node.name  # in Kubernetes
        self._mark = Mark(turn.reason, stage=report.stage)
        self._known = False  # whether Kubernetes has a Node for it
        self._reboots = turn.reboots

    @property
    def node(self) -> Node:
        return self._turn.node

    @property
    def acts(self) -> bool:
        """Whether this turn takes the node down, or only waits for it."""
        return self._turn.act is not None or self._reboots

    @contextlib.asynccontextmanager
    async def step(self, step: Step) -> AsyncIterator[None]:
        """Report the step; name node and step in its error."""
        started = time.monotonic()
        self._tell(step, "start", started)
        try:
            yield
        except TalopsError as error:
            self._tell(step, "failed", started)
            inner = f" ({error.where})" if error.where else ""
            error.where = f"{step} {self.node.name}{inner}"
            error.hint = error.hint or "talops up"
            raise
        self._tell(step, "done", started)

    async def look(self) -> None:
        """Where an interrupted roll stopped, if there was one."""
        boot = await self._boot()
        seen = (await self._patiently("to be found", self._kube.nodes)).get(self._name)
        self._known = seen is not None
        left = mark_of(seen) if seen else None
        if left is not None and not boot and not self._turn.leaves:
            boot = await self._answer()
        if left is None:
            before = bool(seen and is_cordoned(seen))
            self._mark = replace(self._mark, boot=boot, was_cordoned=before)
        else:
            same = bool(boot) and boot == left.boot
            self._reboots |= left.reboot and same
            self._mark = replace(
                left,
                reason=self._turn.reason,
                stage=self._report.stage,
                boot=boot,
                installed=left.installed if same else "",
                reboot=self._reboots,
            )

    async def _boot(self) -> str:
        """Empty if the node does not answer; some turns repair a dead node."""
        async with self._fleet.talos(self.node) as talos:
            with contextlib.suppress(UnreachableError, MaintenanceModeError):
                self._name = await talos.resources.find(NODENAME, NODENAME_ID) or self.node.name
                return await talos.files.boot_id()
        return ""

    async def _answer(self) -> str:
        """An interrupted roll may have restarted it a moment ago."""

        async def probe() -> Ready[str] | NotYet:
            boot = await self._boot()
            return Ready(boot) if boot else NotYet("it does not answer")

        with contextlib.suppress(WaitTimeoutError):
            return await wait_for(
                f"{self.node.name} to answer",
                probe,
                timeout=self._site.limits.boot,
                interval=self._site.limits.interval,
                report=self.waiting,
            )
        return ""

    async def prepare(self) -> None:
        if self._turn.prepare:
            async with self.step(Step.PREPARE):
                self._mark = await self._turn.prepare(self._mark)
                await self._keep()

    async def etcd(self) -> None:
        if self.node.controller:
            async with self.step(Step.ETCD):
                await wait_for_etcd(self._fleet, self._site, self.node, self._options, self.waiting)

    async def empty(self) -> None:
        """Cordon, drain, and wait for the volumes, if there is another node for the pods."""
        if not self._known:
            return
        async with self._kube.open() as kube:
            async with self.step(Step.CORDON):
                self._mark = replace(self._mark, cordoned=True, reboot=self._reboots)
                ref, patch = Ref("v1", "Node", self._name), begin(self._mark)
                await self._patiently("to be cordoned", lambda: kube.merge(ref, patch))
            nodes = await self._patiently("to be drained", lambda: kube.list_all("v1", "Node"))
            if reason := self._undrained(nodes):
                self._report.note(f"{self.node.name} is not drained: {reason}")
                return
            async with self.step(Step.DRAIN):
                await self._drain(kube)
            async with self.step(Step.DETACH):
                await wait_detached(
                    kube,
                    self._name,
                    timeout=self._options.detach_timeout,
                    interval=self._site.limits.interval,
                    report=self.waiting,
                )
            self._mark = replace(self._mark, drained=True)
            await self._keep()

    async def forfeit(self) -> None:
        if self.node.controller:
            async with self.step(Step.FORFEIT):
                await forfeit(self._fleet, self._site, self.node)

    async def act(self) -> None:
        async with self.step(Step.REMOVE if self._turn.leaves else Step.ACT):
            if self._turn.act:
                await self._turn.act()
            if self._reboots:
                await self._reboot()

    async def _reboot(self) -> None:
        async with self._fleet.talos(self.node) as talos:
            # A lost answer is not a failure: the boot id shows whether it reboots.
            with contextlib.suppress(OutcomeUnknownError):
                await talos.machine.reboot()

    async def come_back(self) -> None:
        new = self.acts and (self._turn.restarts or self._reboots)
        before = self._mark.boot if new else ""
        async with self.step(Step.RETURN):
            await Returning(
                self._turn, self._name, before, self._site, self._fleet, self._kube
            ).wait(self.waiting)

    async def release(self) -> None:
        """Uncordon, unless someone else had cordoned it before the roll."""
        async with self.step(Step.UNCORDON):
            await self._patch(lambda: end(self._mark), "to be uncordoned")

    def _undrained(self, nodes: list[Object]) -> str:
        own = next((n for n in nodes if n["metadata"]["name"] == self._name), None)
        if own is not None and condition(own, "Ready"):
            return "it is not Ready, so that its pods cannot be stopped"
        others = [n for n in nodes if n is not own and not is_cordoned(n)]
        if not any(not condition(other, "Ready") for other in others):
            return "no other node can run its pods"
        return ""

    async def _drain(self, kube: KubeClient) -> None:
        options = DrainOptions(
            timeout=self._options.drain_timeout,
            delete_unmanaged=True,
            interval=self._site.limits.interval,
        )
        await self._patiently(
            "to be drained", lambda: drain(kube, self._name, options, self.waiting)
        )

    async def _keep(self) -> None:
        if self._known:
            await self._patch(lambda: keep(self._mark), "to record progress")

    async def _patch(self, patch: Callable[[], Object], what: str) -> None:
        async def act() -> None:
            async with self._kube.open() as kube:
                seen = await kube.get(Ref("v1", "Node", self._name))
                if seen is not None:
                    await kube.merge(Ref("v1", "Node", self._name), patch())

        await self._patiently(what, act)

    async def _patiently(self, what: str, act: Callable[[], Awaitable[T]]) -> T:
        """A control plane that stops takes the API with it for a moment; `act` can be repeated."""

        async def probe() -> Ready[T] | NotYet:
            return Ready(await act())

        return await wait_for(
            f"the Node {self._name} {what}",
            probe,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            report=self.waiting,
            hint=f"kubectl describe node {self._name}; then: talops up",
        )

    def waiting(self, waiting: Waiting) -> None:
        self._report.waiting(waiting, node=self.node.name)

    def _tell(self, step: Step, phase: str, started: float) -> None:
        seconds = round(time.monotonic() - started, 3)
        self._report.event(
            PartProgress(self._report.stage, self.node.name, str(step), phase, seconds)
        )
