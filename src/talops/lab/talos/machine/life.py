"""The life cycle of a node: boot, run until a request ends it, and reboot if requested."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

from talops.lab.talos.machine.boot import Boot, record_installation
from talops.lab.talos.machine.failures import CrashedError, SequenceFailedError, Wish
from talops.lab.talos.machine.phases import phase
from talops.lab.talos.machine.stages import Stage

if TYPE_CHECKING:
    from talops.lab.machine import MachinePower
    from talops.lab.talos.machine.node import Node


# Watchers get the end event before their connections close, however fast a lab runs.
_LAST_WORDS = 0.05


class Life:
    """Runs one node from power-on to power-off."""

    def __init__(self, node: Node, power: MachinePower | None) -> None:
        self._node = node
        self._power = power
        self._task: asyncio.Task[None] | None = None
        self._wish: asyncio.Future[Wish] | None = None

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"node {self._node.machine.name}")
        self._task.add_done_callback(_complain)

    def ask(self, wish: Wish) -> bool:
        """False if another action is already in progress."""
        if self._wish is None or self._wish.done():
            return False
        self._wish.set_result(wish)
        return True

    async def stop(self, *, graceful: bool) -> None:
        """The power is off when this returns. `graceful` is the ACPI button: services end first."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if graceful:
            self._node.enter(Stage.SHUTTING_DOWN)
        await self._halt(grace=5.0 if graceful else 0.0)

    async def _run(self) -> None:
        node = self._node
        while True:
            try:
                wish = await self._up()
                again = await self._fulfil(wish)
            except CrashedError as crash:
                node.journal.kmsg(f"kernel panic: {crash}")
                await self._halt(grace=0.0)
                await asyncio.sleep(self._timing(node.settings.timing.panic))
                continue
            except SequenceFailedError as failure:
                node.journal.kmsg(f"sequence failed, rebooting: {failure}")
                await asyncio.sleep(self._timing(node.settings.timing.panic))
                await self._halt(grace=5.0)
                continue
            if not again:
                break
        if self._power is not None:
            await self._power.guest_powered_off(node.machine.uuid)

    def _timing(self, seconds: float) -> float:
        return self._node.settings.timing.of(seconds)

    async def _up(self) -> Wish:
        """Boot, and run until a request ends it."""
        wish: asyncio.Future[Wish] = asyncio.get_running_loop().create_future()
        self._wish = wish
        boot = asyncio.create_task(Boot(self._node).run())
        both: set[asyncio.Future[Any]] = {boot, wish}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if boot.done():
                boot.result()
            return await wish
        finally:
            boot.cancel()
            await asyncio.gather(boot, return_exceptions=True)

    async def _fulfil(self, wish: Wish) -> bool:
        """Whether the node boots again afterwards."""
        node = self._node
        stage = {
            "reboot": Stage.REBOOTING,
            "shutdown": Stage.SHUTTING_DOWN,
            "reset": Stage.RESETTING,
            "upgrade": Stage.UPGRADING,
        }[wish.kind]
        node.journal.sequence(wish.kind, start=True, actor=wish.actor)
        node.enter(stage)
        if wish.kind == "reset":
            await self._reset(wish)
        if wish.kind == "upgrade" and wish.image is not None:
            async with phase(node, "upgrade", node.settings.timing.install):
                record_installation(node, wish.image)
        grace = 0.0 if wish.force else 5.0
        async with phase(node, "stop", node.settings.timing.stop):
            node.journal.task("stopAllServices", actor=wish.actor)
            node.journal.sequence(wish.kind, start=False, actor=wish.actor)
            await asyncio.sleep(_LAST_WORDS)
            await self._halt(grace=grace)
        return wish.kind in {"reboot", "upgrade"} or (wish.kind == "reset" and wish.reboot)

    async def _reset(self, wish: Wish) -> None:
        node, store = self._node, self._node.store
        async with phase(node, "reset"):
            if wish.graceful and node.config is not None and node.config.control_plane:
                await node.control_plane.leave()
            await node.control_plane.stop(grace=5.0)
            node.withdraw()
            if wish.partitions:
                if "STATE" in wish.partitions:
                    store.wipe_state()
                if "ETCD" in wish.partitions:
                    store.wipe_etcd()
                if "EPHEMERAL" in wish.partitions:
                    store.wipe_ephemeral()
            elif wish.system_disk:
                store.wipe_disk()

    async def _halt(self, *, grace: float) -> None:
        """Stop everything that runs on this machine."""
        node = self._node
        await node.apid.close()
        await node.control_plane.stop(grace=grace)
        node.registration.forget()
        node.addresses = ()


def _complain(task: asyncio.Task[None]) -> None:
    """A node that ends because of a bug in the lab must not look powered off."""
    if not task.cancelled() and (error := task.exception()) is not None:
        task.get_loop().call_exception_handler(
            {"message": f"{task.get_name()} ended", "exception": error, "task": task}
        )


def stage_upgrade(node: Node, reference: str) -> None:
    """Remember an installer to run at the next boot."""
    node.store.save(dataclasses.replace(node.store.installation(), staged=reference))
