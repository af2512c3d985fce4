"""The life cycle of a node: boot, run until a request ends it, and reboot if requested."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

from talops.lab.talos.machine.boot import Boot, record_installation
from talops.lab.talos.machine.failures import CrashedError, NextAction, SequenceFailedError
from talops.lab.talos.machine.phases import phase
from talops.lab.talos.machine.stages import Stage

if TYPE_CHECKING:
    from talops.lab.machine import MachinePower
    from talops.lab.talos.machine.node import Node


# Watchers get the end event before their connections close, however fast a lab runs.
_LAST_WORDS = 0.05


class LifeCycle:
    """Runs one node from power-on to power-off."""

    def __init__(self, node: Node, power: MachinePower | None) -> None:
        self._node = node
        self._power = power
        self._task: asyncio.Task[None] | None = None
        self._action: asyncio.Future[NextAction] | None = None

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"node {self._node.machine.name}")
        self._task.add_done_callback(_complain)

    def ask(self, action: NextAction) -> bool:
        """False if another action is already in progress."""
        if self._action is None or self._action.done():
            return False
        self._action.set_result(action)
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
            await self._node.registration.drain()
            await self._node.registration.shut_down()
        await self._halt(grace=5.0 if graceful else 0.0)

    async def _run(self) -> None:
        node = self._node
        while True:
            try:
                action = await self._up()
                again = await self._carry_out(action)
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

    async def _up(self) -> NextAction:
        """Boot, and run until a request ends it."""
        action: asyncio.Future[NextAction] = asyncio.get_running_loop().create_future()
        self._action = action
        boot = asyncio.create_task(Boot(self._node).run())
        both: set[asyncio.Future[Any]] = {boot, action}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if boot.done():
                boot.result()
            return await action
        finally:
            boot.cancel()
            await asyncio.gather(boot, return_exceptions=True)

    async def _carry_out(self, action: NextAction) -> bool:
        """Whether the node boots again afterwards."""
        node = self._node
        stage = {
            "reboot": Stage.REBOOTING,
            "shutdown": Stage.SHUTTING_DOWN,
            "reset": Stage.RESETTING,
            "upgrade": Stage.UPGRADING,
        }[action.kind]
        node.journal.sequence(action.kind, start=True, actor=action.actor)
        node.enter(stage)
        if _drains(action):
            await node.registration.drain()
        if action.kind == "reset":
            await self._reset(action)
        if action.kind == "upgrade" and action.image is not None:
            async with phase(node, "upgrade", node.settings.timing.install):
                if node.faults.install_exit:
                    code = node.faults.install_exit
                    raise SequenceFailedError(f"upgrade failed: exit code {code}")
                record_installation(node, action.image)
        grace = 0.0 if action.force else 5.0
        if not action.force:
            await node.registration.shut_down()
        async with phase(node, "stop", node.settings.timing.stop):
            node.journal.task("stopAllServices", actor=action.actor)
            node.journal.sequence(action.kind, start=False, actor=action.actor)
            await asyncio.sleep(_LAST_WORDS)
            await self._halt(grace=grace)
        return action.kind in {"reboot", "upgrade"} or (action.kind == "reset" and action.reboot)

    async def _reset(self, action: NextAction) -> None:
        node, store = self._node, self._node.store
        async with phase(node, "reset"):
            if action.graceful and node.config is not None and node.config.control_plane:
                await node.control_plane.leave()
            await node.control_plane.stop(grace=5.0)
            node.withdraw()
            if action.partitions:
                if "STATE" in action.partitions:
                    store.wipe_state()
                if "ETCD" in action.partitions:
                    store.wipe_etcd()
                if "EPHEMERAL" in action.partitions:
                    store.wipe_ephemeral()
            elif action.system_disk:
                store.wipe_disk()

    async def _halt(self, *, grace: float) -> None:
        """Stop everything that runs on this machine."""
        node = self._node
        await node.apid.close()
        await node.control_plane.stop(grace=grace)
        await node.registration.forget()
        node.addresses = ()


def _drains(action: NextAction) -> bool:
    """A reboot and everything that is forced does not."""
    if action.kind == "reset":
        return action.graceful
    return action.kind in {"shutdown", "upgrade"} and not action.force


def _complain(task: asyncio.Task[None]) -> None:
    """A node that ends because of a bug in the lab must not look powered off."""
    if not task.cancelled() and (error := task.exception()) is not None:
        task.get_loop().call_exception_handler(
            {"message": f"{task.get_name()} ended", "exception": error, "task": task}
        )


def stage_upgrade(node: Node, reference: str) -> None:
    """Remember an installer to run at the next boot."""
    node.store.save(dataclasses.replace(node.store.installation(), staged=reference))
