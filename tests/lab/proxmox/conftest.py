"""A lab in a temporary directory, and a client that uses it as root."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from talops.lab.spec import LabSpec
from talops.lab.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


class Pve:
    """One Proxmox API, called the way clients call it: forms in, `data` out."""

    def __init__(self, world: World, *, host: int = 0, token: str | None = None) -> None:
        self.world = world
        spec = world.identity.spec.proxmox[host]
        self.node = spec.nodes[0].name
        endpoint = world.proxmox.endpoints()["hosts"][host]["endpoint"]
        token = token or world.identity.credentials.api_token
        self.http = httpx.AsyncClient(
            base_url=f"{endpoint}api2/json",
            verify=world.authority.client_context(),
            headers={"Authorization": f"PVEAPIToken={token}"} if token != "-" else {},
            timeout=30,
        )

    async def call(self, method: str, path: str, /, **params: Any) -> Any:
        response = await self.send(method, path, **params)
        assert response.status_code == 200, f"{response.reason_phrase}: {response.text}"
        return response.json()["data"]

    async def send(self, method: str, path: str, /, **params: Any) -> httpx.Response:
        named = {key.replace("__", "-"): value for key, value in params.items()}
        if method in {"GET", "DELETE"}:
            return await self.http.request(method, path, params=named)
        return await self.http.request(method, path, data=named or None)

    async def task(self, method: str, path: str, /, **params: Any) -> str:
        """Start a task and wait for it; its exit status."""
        upid = await self.call(method, path, **params)
        pve = next(p for p in self.world.proxmox.hypervisors.values() if upid in p.tasks.table)
        await pve.tasks.wait(upid)
        status = await self.call("GET", f"/nodes/{upid.split(':')[1]}/tasks/{upid}/status")
        assert status["status"] == "stopped"
        return str(status["exitstatus"])

    async def log(self, upid: str) -> list[str]:
        rows = await self.call("GET", f"/nodes/{upid.split(':')[1]}/tasks/{upid}/log")
        return [row["t"] for row in rows]


@asynccontextmanager
async def running(directory: Path, spec: LabSpec | None = None) -> AsyncIterator[Pve]:
    """A lab that has been there keeps what it was; a new one wastes no time."""
    fresh = None if directory.exists() else LabSpec()  # noqa: ASYNC240  (nothing waits)
    async with World(directory, spec or fresh) as world:
        pve = Pve(world)
        async with pve.http:
            yield pve


@pytest.fixture
async def pve(tmp_path: Path) -> AsyncIterator[Pve]:
    async with running(tmp_path / "lab") as client:
        yield client
