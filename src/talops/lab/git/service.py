"""Repositories over HTTPS: `lab/home` is public; `lab/private` and pushes need the token."""

from __future__ import annotations

import asyncio
import base64
import hmac
import os
from typing import TYPE_CHECKING, Any

from aiohttp import web

from talops.errors import ToolError
from talops.lab.https import HttpsSite

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.context import LabContext


PORT = 8446
USER = "lab"
REPOSITORIES = ("lab/home.git", "lab/private.git")
_HEADER_END = b"\r\n\r\n"


class GitService:
    name = "git"

    def __init__(self, context: LabContext) -> None:
        self._layout = context.layout
        address = context.network.address(0, 4)
        self._site = HttpsSite(context.authority, self.name, address, PORT)
        self._token = context.credentials.token

    @property
    def _root(self) -> Path:
        return self._layout.state(self.name)

    async def start(self) -> None:
        for name in REPOSITORIES:
            await _create(self._root / name)
        app = web.Application(client_max_size=256 * 1024 * 1024)
        app.router.add_route("*", "/{path:.+}", self._serve)
        await self._site.start(app)

    async def stop(self) -> None:
        await self._site.stop()

    def endpoints(self) -> dict[str, Any]:
        base = self._site.url
        return {
            "url": f"{base}/{REPOSITORIES[0]}",
            "private_url": f"{base}/{REPOSITORIES[1]}",
            "username": USER,
            "token": self._token,
        }

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        writes = "git-receive-pack" in path + request.query_string
        known = self._is_known(request)
        if not known and (writes or path.startswith(REPOSITORIES[1])):
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="lab"'})
        environment = {
            "PATH": os.defpath,
            "HOME": str(self._root),
            "GIT_PROJECT_ROOT": str(self._root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{path}",
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_NOSYSTEM": "1",
            **({"REMOTE_USER": USER} if known else {}),
        }
        return await _through_cgi(environment, await request.read())

    def _is_known(self, request: web.Request) -> bool:
        given = request.headers.get("Authorization", "").removeprefix("Basic ")
        wanted = base64.b64encode(f"{USER}:{self._token}".encode()).decode()
        return hmac.compare_digest(given, wanted)


async def _create(path: Path) -> None:
    if (path / "HEAD").exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *("git", "init", "--quiet", "--bare", "--initial-branch=main", str(path)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    if process.returncode:
        raise ToolError(f"git init failed: {err.decode(errors='replace')}", where=str(path))


async def _through_cgi(environment: dict[str, str], body: bytes) -> web.Response:
    process = await asyncio.create_subprocess_exec(
        "git",
        "http-backend",
        env={**environment, "CONTENT_LENGTH": str(len(body))},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    out, _ = await process.communicate(body)
    head, _, content = out.partition(_HEADER_END)
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
    status = int(headers.pop("Status", "200").split(" ")[0])
    return web.Response(status=status, body=content, headers=headers)
