"""The lab's Proxmox with a thousand VMs: requests per second and memory."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
from tests.bench.figure import Figure

from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

VMS, CLIENTS, READS = 1000, 16, 4000
FIRST = 1000
NODE = "/nodes/pve"


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="talops-bench-") as scratch, _lab(scratch) as lab:
        yield from asyncio.run(_measure(lab))


@contextmanager
def _lab(scratch: str) -> Iterator[dict[str, Any]]:
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "talops", "lab", *words, "--dir", scratch]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    # The simulator itself is measured, not the time that its tasks would take.
    lab = json.loads(run("proxmox", "--detach", "--pace", "0", "-o", "json"))
    try:
        yield lab
    finally:
        run("stop")


async def _measure(lab: dict[str, Any]) -> list[Figure]:
    trust = ssl.create_default_context(cafile=lab["ca_file"])
    base = lab["proxmox"]["hosts"][0]["endpoint"] + "api2/json"
    headers = {"Authorization": f"PVEAPIToken={lab['proxmox']['api_token']}"}
    connector = aiohttp.TCPConnector(ssl=trust, limit=CLIENTS)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:

        async def call(method: str, path: str, **data: str) -> bytes:
            async with session.request(method, base + path, data=data or None) as answer:
                answer.raise_for_status()
                return await answer.read()

        made = await _rate(VMS, lambda n: call("POST", f"{NODE}/qemu", **_vm(n)))
        await _settled(call)
        read = await _rate(READS, lambda n: call("GET", _read(n)))
    return [
        Figure("lab: VMs created", made, "/s"),
        Figure("lab: reads as in a refresh of 1,000 VMs", read, "/s", 500, at_least=True),
        Figure("lab: memory with 1,000 VMs", _memory(lab["pid"]), "MB", 200),
    ]


async def _rate(count: int, one: Callable[[int], Awaitable[bytes]]) -> float:
    numbers = iter(range(count))

    async def client() -> None:
        for number in numbers:
            await one(number)

    started = time.monotonic()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return count / (time.monotonic() - started)


async def _settled(call: Callable[..., Awaitable[bytes]]) -> None:
    async def unlocked() -> Ready[None] | NotYet:
        locked = b'"lock"' in await call("GET", "/cluster/resources?type=vm")
        return NotYet("some are still being made") if locked else Ready(None)

    await wait_for("all VMs made", unlocked, timeout=120, interval=0.1)


def _vm(number: int) -> dict[str, str]:
    return {
        "vmid": str(FIRST + number),
        "name": f"vm{number}",
        "cores": "4",
        "memory": "8192",
        "efidisk0": "local-lvm:1,efitype=4m",
        "scsi0": "local-lvm:20,ssd=1,discard=on",
        "net0": "virtio,bridge=vmbr0,tag=20",
    }


def _read(number: int) -> str:
    vmid = FIRST + number % VMS
    paths = (
        "/cluster/resources?type=vm",
        f"{NODE}/qemu/{vmid}/config",
        f"{NODE}/qemu/{vmid}/status/current",
        "/cluster/resources?type=vm",
        f"{NODE}/storage/local-lvm/content/local-lvm:vm-{vmid}-disk-{number % 2}",
    )
    return paths[number % len(paths)]


def _memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
