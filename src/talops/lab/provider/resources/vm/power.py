"""Switching a VM on and off the way the real provider does, and waiting until it is so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.lab.provider import options, tasks
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Remark, refuse

if TYPE_CHECKING:
    from talops.lab.provider.kinds import Call
    from talops.lab.provider.values import Values

_START_MAY_HANG = 599
_REBOOT_BY_HAND = Remark(
    "a reboot is required to apply configuration changes, but automatic reboots are disabled by "
    "'reboot_after_update = false'. Please reboot the VM manually."
)


@dataclass
class Power:
    """`stopped` remembers that this change has had the VM off already: once is enough."""

    call: Call
    node: str
    vmid: int
    settings: Values
    stopped: bool = False
    warned: bool = False

    @property
    def path(self) -> str:
        return f"/nodes/{self.node}/qemu/{self.vmid}"

    async def status(self) -> Values:
        data: Values = await self.call.api.get(f"{self.path}/status/current")
        return data

    async def is_off(self) -> bool:
        return bool((await self.status())["status"] == "stopped")

    async def ensure_running(self) -> None:
        if await self.is_off():
            await self._start()

    async def ensure_stopped(self) -> None:
        if await self.is_off():
            return
        if await self.agent_enabled():
            await self._shut_down()
        else:
            await self.stop()
        self.stopped = True

    async def restart(self) -> None:
        """Nothing to do for a VM that is off."""
        if await self.is_off():
            return
        if await self.agent_enabled():
            await self._reboot()
            return
        await self.ensure_stopped()
        await self.ensure_running()

    async def stop(self) -> None:
        limit = float(self.settings["timeout_stop_vm"])
        await tasks.run(self.call, "VM stop", "POST", f"{self.path}/status/stop", limit=limit)
        await self.reach("stopped", limit)

    async def agent_enabled(self) -> bool:
        config = await self.call.api.get(f"{self.path}/config")
        return agent_is_on(config)

    async def off_for_change(self, what: str = "") -> bool:
        """Off because a change needs it. False: `reboot_after_update` forbids that.

        `what` is something that cannot be done at all while the VM runs: then it is an error.
        """
        if await self.is_off() or self.stopped:
            return True
        if self.settings["reboot_after_update"]:
            await self.ensure_stopped()
            return True
        if what:
            refuse(
                f"cannot {what} while the VM is running: this needs the VM to be off, and "
                "'reboot_after_update = false' forbids switching it off"
            )
        self.warn()
        return False

    def warn(self) -> None:
        if not self.warned:
            self.call.warnings.append(_REBOOT_BY_HAND)
        self.warned = True

    async def settle(self, *, started: bool, was_started: bool, restart: bool) -> None:
        """The last step of an update: on if it should be, and restarted if it never was off."""
        off = await self.is_off()
        if not started:
            if was_started and not off:
                await self.ensure_stopped()
            return
        if off:
            await self.ensure_running()
        elif restart and not self.stopped:
            if self.settings["reboot_after_update"]:
                await self.restart()
            else:
                self.warn()

    async def reach(self, state: str, limit: float) -> None:
        async for _ in tasks.ticks(limit):
            if (await self.status())["status"] == state:
                return
        refuse(f"VM {self.vmid} is not {state} after {limit:.0f} s")

    async def _start(self) -> None:
        limit = int(self.settings["timeout_start_vm"])

        async def start() -> Any:
            path = f"{self.path}/status/start"
            return await self.call.api.call("POST", path, {"timeout": str(limit)})

        try:
            upid = await tasks.retrying(start, when=lambda e: "got no worker upid" in e.reason)
        except ApiError as error:
            if "already running" not in error.reason:
                raise
        else:
            await tasks.finish(self.call, "VM start", upid, limit=limit, ignore=_START_MAY_HANG)
        await self.reach("running", limit)

    async def _shut_down(self) -> None:
        limit = int(self.settings["timeout_shutdown_vm"])
        form = {"forceStop": "1", "timeout": str(limit)}
        path = f"{self.path}/status/shutdown"
        await tasks.run(self.call, "VM shutdown", "POST", path, form, limit=limit)
        await self.reach("stopped", limit)

    async def _reboot(self) -> None:
        limit = int(self.settings["timeout_reboot"])
        await self._agent_answers(limit)
        path, form = f"{self.path}/status/reboot", {"timeout": str(limit)}
        await tasks.run(self.call, "VM reboot", "POST", path, form, limit=limit)
        await self.reach("running", limit)

    async def _agent_answers(self, limit: float) -> None:
        async for _ in tasks.ticks(limit):
            try:
                await self.call.api.call("POST", f"{self.path}/agent/ping")
            except ApiError as error:
                if not agent_not_ready(error):
                    raise
            else:
                return
        refuse(f"the guest agent of VM {self.vmid} does not answer after {limit:.0f} s")


def agent_is_on(config: Values) -> bool:
    return options.parse(str(config.get("agent", "0")), "enabled").get("enabled") == "1"


def agent_not_ready(error: ApiError) -> bool:
    text = error.reason.lower()
    return error.code == 400 or "guest agent" in text or "got timeout" in text  # noqa: PLR2004
