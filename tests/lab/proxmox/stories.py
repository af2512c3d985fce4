"""Requests in their order, each with how it ends, as Proxmox' own code ended them.

The same requests were given to the real API (pve-manager 9.2.11, qemu-server 9.2.6, pve-storage
9.1.7, run in one process without a host) and to the lab. A row's end is the status and message of a
refusal, or how its task ended; `OK` is a call without a task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.lab.proxmox.conftest import Pve

Row = tuple[str, dict[str, Any], str]


async def told(pve: Pve, story: list[Row]) -> list[str]:
    """The rows that end in another way."""
    wrong = []
    for call, params, end in story:
        found = await _end(pve, call, params)
        if not found.startswith(end) or (end == "OK" and found != end):
            wrong.append(f"{call} {params}: {found!r} instead of {end!r}")
    return wrong


async def _end(pve: Pve, call: str, params: dict[str, Any]) -> str:
    method, _, path = call.partition(" ")
    path = path.replace("VM/", "/nodes/pve/qemu/").replace("NODE", "/nodes/pve")
    answer = await pve.send(method, path, **params)
    if not answer.is_success:
        errors = answer.json().get("errors", {})
        details = "; ".join(f"{name}: {text.strip()}" for name, text in errors.items())
        return f"{answer.status_code} {details or answer.reason_phrase}"
    data = answer.json()["data"]
    if not str(data).startswith("UPID:"):
        return "OK"
    tasks = pve.world.proxmox.hypervisors[pve.node].tasks
    await tasks.wait(data)
    return tasks.table[data].exitstatus
