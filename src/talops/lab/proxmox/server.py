"""HTTPS in front of a hypervisor: who calls, may they, what comes back, and what goes wrong."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from aiohttp import web

from talops.lab.proxmox import (  # noqa: F401  (importing them registers their routes)
    access,
    agent,
    cluster,
    downloads,
    ha,
    hardware,
    network,
    nodes,
    pools,
    power,
    roles,
    storageapi,
    tasksapi,
    tokens,
    vmclone,
    vmcreate,
    vmmigrate,
    vms,
    vmupdate,
)
from talops.lab.proxmox.call import Call, RawJson, Upload
from talops.lab.proxmox.errors import PveError, unauthorized
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.faults import Fault
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.routing import Route

PREFIX = "/api2/json"
READS = frozenset({"GET", "HEAD"})
HEADERS = {"Content-Type": "application/json;charset=UTF-8", "Server": "pve-api-daemon/3.0"}


class Dropped(Exception):  # noqa: N818  (no error: the connection just ends)
    pass


class Api:
    """Answers the requests that reach one node of a hypervisor."""

    def __init__(self, pve: Hypervisor, node: str) -> None:
        self._pve = pve
        self._node = node

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self._pve.faults.refresh()
        if self._pve.offline(self._node):
            return _drop(request)
        try:
            return await self._answer(request)
        except Dropped:
            return _drop(request)
        except PveError as error:
            self._pve.store.commit()
            return _reply(error.status, error.message, error.body())

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if not path.startswith(PREFIX):
            raise PveError(404, f"no such file '{path}'")
        facts = {
            "host": self._pve.name,
            "node": self._node,
            "method": request.method,
            "path": path.removeprefix(PREFIX),
        }
        slow = self._pve.faults.find("latency", **facts)
        if slow:
            await asyncio.sleep(slow.seconds)
        self._fail("before", facts)
        data = await self._perform(request, path.removeprefix(PREFIX))
        self._pve.store.commit()
        self._fail("after", facts)
        if isinstance(data, RawJson):
            return _reply_kept(request, data)
        return _reply(200, "OK", {"data": data})

    def _fail(self, when: str, facts: dict[str, Any]) -> None:
        """Before the work the caller is right that nothing happened; after it, wrong."""
        if self._pve.faults.find("drop", when=when, **facts):
            raise Dropped
        fault: Fault | None = self._pve.faults.find("error", when=when, **facts)
        if fault:
            raise PveError(fault.status, fault.message or "injected failure")

    async def _perform(self, request: web.BaseRequest, path: str) -> Any:
        found, in_path = route.find(request.method, path)
        user = self._identify(request, found)
        raw, upload = await _read(request)
        params = found.schema.verify({**raw, **in_path})
        call = Call(self._pve, user, params, upload)
        self._check_node(params)
        if found.check:
            found.check(call)
        result = found.handler(call)
        return await result if inspect.isawaitable(result) else result

    def _identify(self, request: web.BaseRequest, found: Route) -> str:
        if found.open:
            return ""
        header = request.headers.get("Authorization", "")
        if header.startswith("PVEAPIToken="):
            value = header.removeprefix("PVEAPIToken=")
            if self._pve.faults.find(
                "token-revoked", host=self._pve.name, token=value.split("=")[0]
            ):
                raise unauthorized("invalid token value!")
            return self._pve.login.by_token(value)
        ticket = request.cookies.get("PVEAuthCookie")
        if not ticket:
            raise unauthorized("No ticket")
        csrf = request.headers.get("CSRFPreventionToken")
        return self._pve.login.by_ticket(ticket, csrf, writes=request.method not in READS)

    def _check_node(self, params: dict[str, Any]) -> None:
        node = params.get("node")
        if node is None:
            return
        if node not in self._pve.nodes:
            raise PveError(
                500,
                f"hostname lookup '{node}' failed - failed to get address info for: "
                f"{node}: Name or service not known",
            )
        if self._pve.offline(node):
            raise PveError(595, "No route to host")


async def _read(request: web.BaseRequest) -> tuple[dict[str, Any], Upload | None]:
    pairs = parse_qsl(request.query_string, keep_blank_values=True)
    kind = request.content_type
    upload = None
    if kind == "multipart/form-data":
        fields, upload = await _read_multipart(request)
        pairs += fields
    elif request.can_read_body:
        body = await request.text()
        if kind == "application/json" and body:
            return {**dict(pairs), **json.loads(body)}, None
        pairs += parse_qsl(body, keep_blank_values=True)
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            earlier = values[key]
            values[key] = [*earlier, value] if isinstance(earlier, list) else [earlier, value]
        else:
            values[key] = value
    return values, upload


async def _read_multipart(
    request: web.BaseRequest,
) -> tuple[list[tuple[str, str]], Upload | None]:
    fields: list[tuple[str, str]] = []
    upload = None
    async for part in await request.multipart():
        filename = getattr(part, "filename", None)
        data = bytes(await part.read())  # type: ignore[union-attr]  # nested multipart is not sent
        if filename:
            upload = Upload(filename, data)
        else:
            fields.append((str(getattr(part, "name", "")), data.decode()))
    return fields, upload


def _reply_kept(request: web.BaseRequest, kept: RawJson) -> web.Response:
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return web.Response(body=kept.text, headers=HEADERS)
    return web.Response(body=kept.packed, headers={**HEADERS, "Content-Encoding": "gzip"})


def _reply(status: int, reason: str, body: dict[str, Any]) -> web.Response:
    # The reason phrase is Proxmox' error message, and clients read it: one line, no control codes.
    line = reason.splitlines()[0] if reason else ""
    content = json.dumps(body, separators=(",", ":")).encode()
    return web.Response(status=status, reason=line, body=content, headers=HEADERS)


def _drop(request: web.BaseRequest) -> web.StreamResponse:
    transport = request.transport
    if transport:
        transport.abort()
    return web.Response(status=500)
