"""Tasks: asynchronous work of Proxmox, waited for until it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from talops.errors import TalopsError
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.proxmox.client import Client

LONGEST = 1800.0
INTERVAL = 0.5
LINES = 8
_WORDS = 6  # of a task id, up to its type


async def run(
    client: Client,
    method: str,
    path: str,
    params: Mapping[str, Any] | None = None,
    *,
    longest: float = LONGEST,
    interval: float = INTERVAL,
) -> list[str]:
    """Start a task and wait for it; returns its warnings."""
    upid = str(await client.ask(method, path, params))
    words = upid.split(":")
    if len(words) < _WORDS or not upid.isascii():
        raise TalopsError(
            f"Proxmox started no task: it returned {upid[:80]!r}",
            where=f"{client.access.base}{path}",
        )
    task = f"nodes/{quote(words[1])}/tasks/{quote(upid, safe=':@')}"

    async def probe() -> Ready[str] | NotYet:
        status = await client.get(f"{task}/status")
        if status["status"] == "running":
            return NotYet("it still runs")
        return Ready(str(status.get("exitstatus", "")))

    name = f"Proxmox task {words[5]}"
    hint = "look at the task in Proxmox; it may still finish"
    end = await wait_for(name, probe, timeout=longest, interval=interval, hint=hint)
    if end == "OK":
        return []
    log = [str(row["t"]) for row in await client.get(f"{task}/log", limit=0)]
    if end.startswith("WARNINGS"):
        return [line for line in log if "WARN" in line]
    raise TalopsError(
        f"{name} failed: {end}",
        where=f"{client.access.base}{path}",
        hint="its last lines: " + " | ".join(log[-LINES:]) if log else None,
    )
