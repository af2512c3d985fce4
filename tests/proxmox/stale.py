"""A Proxmox whose pvestatd does not run: its list of VMs knows no more than where they are.

So says `extract_vm_stats` of pve-manager 9.2 (PVE/API2Tools.pm): a row has id, vmid, node, type and
`status: unknown`; name, template flag and sizes are what pvestatd wrote last, every ten seconds.
"""

from __future__ import annotations

import json

import httpx

KEPT = ("id", "vmid", "node", "type")


class Stale(httpx.AsyncBaseTransport):
    """Passes everything on, and leaves out of each row what the real one would not know."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        if not request.url.path.endswith("/cluster/resources"):
            return answer
        rows = json.loads(await answer.aread())["data"]
        known = [{**{key: row[key] for key in KEPT}, "status": "unknown"} for row in rows]
        return httpx.Response(answer.status_code, json={"data": known})

    async def aclose(self) -> None:
        await self._inner.aclose()
