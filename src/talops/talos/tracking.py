"""Waiting for a node to go down and come back, or to reach a stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import UnreachableError
from talops.talos.kinds import MACHINE_ID, MACHINE_STATUS, MachineStatus
from talops.waiting import NotYet, Ready, Waiting, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.talos.client import Talos


def _silent(_: Waiting) -> None:
    pass


async def wait_for_boot(
    talos: Talos,
    before: str,
    *,
    timeout: float,  # noqa: ASYNC109  (wait_for's error carries the last reason)
    report: Callable[[Waiting], None] = _silent,
) -> MachineStatus:
    """Until the node runs again under another boot id than `before`."""

    async def probe() -> Ready[MachineStatus] | NotYet:
        if await talos.files.boot_id() == before:
            return NotYet("the node has not rebooted yet")
        return await _running(talos)

    return await wait_for(
        f"{talos.where}: rebooted and running",
        probe,
        timeout=timeout,
        hint="`talops talos dmesg` and the VM's console show what it waits for",
        report=report,
    )


async def wait_until_running(
    talos: Talos,
    *,
    timeout: float,  # noqa: ASYNC109
    report: Callable[[Waiting], None] = _silent,
) -> MachineStatus:
    return await wait_for(
        f"{talos.where}: running", lambda: _running(talos), timeout=timeout, report=report
    )


async def wait_until_gone(
    talos: Talos,
    *,
    timeout: float,  # noqa: ASYNC109
    report: Callable[[Waiting], None] = _silent,
) -> None:
    """Until the node does not answer any more."""

    async def probe() -> Ready[None] | NotYet:
        try:
            await talos.version()
        except UnreachableError:
            return Ready(None)
        return NotYet("the node still answers")

    await wait_for(f"{talos.where}: down", probe, timeout=timeout, report=report)


async def _running(talos: Talos) -> Ready[MachineStatus] | NotYet:
    status = await talos.resources.find(MACHINE_STATUS, MACHINE_ID)
    if status is None:
        return NotYet("the node does not know its stage yet")
    if status.stage != "running" or not status.ready:
        reasons = f" ({status.reasons})" if status.unmet else ""
        return NotYet(f"stage {status.stage}{reasons}")
    return Ready(status)
