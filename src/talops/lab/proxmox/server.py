"""HTTPS in front of a hypervisor: authentication, permissions, responses and faults."""

from __future__ import annotations

import asyncio
import inspect
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from aiohttp import web

from talops.lab.proxmox import cluster, ha, hardware, nodes, tasksapi  # noqa: F401  (importing them registers their routes)
from talops.lab.proxmox.access import (
    groups,  # noqa: F401  (importing it registers its routes)
    pools,  # noqa: F401  (importing it registers its routes)
    roles,  # noqa: F401  (importing it registers its routes)
    tokens,  # noqa: F401  (importing it registers its routes)
)
from talops.lab.proxmox.access import users as access  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.call import Answer, Call, RawJson, Upload
from talops.lab.proxmox.errors import PveError, invalid, unauthorized
from talops.lab.proxmox.network import interfaces as network  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema import indexes  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.schema.checks import check_caller
from talops.lab.proxmox.schema.formats import check_format
from talops.lab.proxmox.schema.params import verify
from talops.lab.proxmox.storage import api as storageapi  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.storage import config as storageconfig  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.storage import content as storagecontent  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.storage import (
    downloads,  # noqa: F401  (importing it registers its routes)
    urls,  # noqa: F401  (importing it registers its routes)
)
from talops.lab.proxmox.vm import (
    agent,  # noqa: F401  (importing it registers its routes)
    power,  # noqa: F401  (importing it registers its routes)
)
from talops.lab.proxmox.vm import clone as vmclone  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.vm import cloudinit as vmcloudinit  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.vm import create as vmcreate  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.vm import disks as vmdisks  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.vm import migrate as vmmigrate  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.vm import records as vms  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.vm import snapshots as vmsnapshots  # noqa: F401  (importing it registers its routes)
from talops.lab.proxmox.vm import update as vmupdate  # noqa: F401  (importing it registers its routes)

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
            return _refusal(error)

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
        if isinstance(data, Answer):
            return _reply(200, "OK", {"data": data.data, **data.beside})
        return _reply(200, "OK", {"data": data})

    def _fail(self, when: str, facts: dict[str, Any]) -> None:
        """Fails before the work, so that nothing happened, or after it."""
        if self._pve.faults.find("drop", when=when, **facts):
            raise Dropped
        fault: Fault | None = self._pve.faults.find("error", when=when, **facts)
        if fault:
            raise PveError(fault.status, fault.message or "injected failure")

    async def _perform(self, request: web.BaseRequest, path: str) -> Any:
        """In Proxmox' order: authentication, route, permission, parameters."""
        found, in_path, missing = self._route(request, path)
        user = "" if found and found.open else self._identify(request)
        if found is None:
            raise missing or PveError(501, "")
        raw, upload = await _read(request)
        if upload:
            raw["filename"] = upload.filename
        for name in in_path.keys() & raw.keys():
            if raw[name] != in_path[name]:
                twice = "duplicate parameter (already defined in URI) with conflicting values!"
                raise invalid({name: twice})
        call = Call(self._pve, user, {**raw, **in_path}, upload)
        described = found.described
        check_caller(call, described.check)
        if "node" in in_path:
            call.params["node"] = self._node_name(in_path["node"])
        elif "check-node" in call.params and "check-node" in described.properties.plain:
            self._node_name(str(call.params["check-node"]))
        params = verify(described.properties, call.params, check_format)
        result = found.handler(replace(call, params=params))
        return await result if inspect.isawaitable(result) else result

    def _route(
        self, request: web.BaseRequest, path: str
    ) -> tuple[Route | None, dict[str, str], PveError | None]:
        """An unauthenticated client gets no information, not even that a call does not exist."""
        try:
            found, in_path = route.find(request.method, path)
        except PveError as error:
            if error.bare:
                raise
            return None, {}, error
        return found, in_path, None

    def _identify(self, request: web.BaseRequest) -> str:
        header = request.headers.get("Authorization", "")
        if header.startswith("PVEAPIToken="):
            value = header.removeprefix("PVEAPIToken=")
            if self._pve.faults.find(
                "token-revoked", host=self._pve.name, token=value.split("=")[0]
            ):
                raise unauthorized()
            return self._pve.login.by_token(value)
        ticket = unquote(request.cookies.get("PVEAuthCookie") or "")
        if not ticket:
            raise unauthorized("No ticket")
        csrf = request.headers.get("CSRFPreventionToken")
        return self._pve.login.by_ticket(ticket, csrf, writes=request.method not in READS)

    def _node_name(self, node: str) -> str:
        if node == "localhost":
            return self._node
        if node in {"", "0"}:
            raise PveError(500, "internal error - proxyto_callback returned nothing")
        if node not in self._pve.nodes:
            raise PveError(
                500,
                f"hostname lookup '{node}' failed - failed to get address info for: "
                f"{node}: Temporary failure in name resolution",
            )
        if self._pve.offline(node):
            raise PveError(595, "No route to host")
        return node


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


def _refusal(error: PveError) -> web.Response:
    if error.bare:
        headers = {"Server": HEADERS["Server"]}
        return web.Response(status=error.status, reason=error.message, headers=headers)
    return _reply(error.status, error.message, error.body())


def _drop(request: web.BaseRequest) -> web.StreamResponse:
    transport = request.transport
    if transport:
        transport.abort()
    return web.Response(status=500)
