"""Work that Proxmox does in the background, and the states it takes time to reach."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, Remark, refuse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from talops.lab.provider.api import Api, Params

_NOT_THERE_YET = 400
_SHORTEST, _LONGEST = 0.05, 1.0
_TRIES = 3
_BACKOFF = 1.0


async def ticks(limit: float) -> AsyncIterator[None]:
    """At once, then at growing intervals of up to a second, until the time is over."""
    end = time.monotonic() + limit
    pause = _SHORTEST
    yield
    while time.monotonic() < end:
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST)
        yield


async def run(
    call: Call, what: str, method: str, path: str, params: Params | None = None, *, limit: float
) -> None:
    """Start a task and wait for its end."""
    upid = await call.api.call(method, path, params)
    await finish(call, what, upid, limit=limit)


async def finish(
    call: Call, what: str, upid: Any, *, limit: float, ignore: int | None = None
) -> None:
    if not isinstance(upid, str):
        refuse(f"{what}: the server did not include a data object in the response")
    path = f"/nodes/{upid.split(':')[1]}/tasks/{quote(upid, safe='@:')}"
    async for _ in ticks(limit):
        try:
            status = await call.api.get(f"{path}/status")
        except ApiError as error:
            if error.code in (_NOT_THERE_YET, ignore) and error.code:
                continue
            raise
        if status.get("status") != "running":
            await _judge(call, what, path, upid, str(status.get("exitstatus")))
            return
    refuse(f"{what}: task {upid} was still running after {limit:.0f} s")


async def _judge(call: Call, what: str, path: str, upid: str, outcome: str) -> None:
    if outcome == "OK":
        return
    lines = await _log(call.api, path)
    warnings = [line for line in lines if "WARN:" in line]
    if outcome.startswith("WARNINGS: "):
        said = warnings or [f"task {upid} completed with warnings ({outcome})"]
        call.warnings += [Remark(f"{what}: {line}") for line in said]
        return
    call.warnings += [Remark(f"{what}: {line}") for line in warnings]
    rest = "\n  ".join(line for line in lines if line not in warnings)
    refuse(f"{what}: task {upid} failed: {outcome}", f"Task log:\n  {rest}" if rest else "")


async def _log(api: Api, path: str) -> list[str]:
    """For people to read: a log that cannot be had does not change what the task did."""
    try:
        lines = await api.get(f"{path}/log")
    except ApiError as error:
        return [f"(the task's log could not be read: {error})"]
    return [str(line.get("t", "")) for line in lines or []]


async def retrying(
    work: Callable[[], Awaitable[Any]],
    *,
    when: Callable[[ApiError], bool],
    tries: int = _TRIES,
    pause: float = _BACKOFF,
    done: Callable[[ApiError], bool] = lambda _: False,
) -> Any:
    """`done`: an error that a repetition may get because the first attempt did work after all."""
    for attempt in range(1, tries + 1):
        try:
            return await work()
        except ApiError as error:
            if attempt > 1 and done(error):
                return None
            if attempt == tries or not when(error):
                raise
            await asyncio.sleep(pause * 2 ** (attempt - 1))
    raise AssertionError
