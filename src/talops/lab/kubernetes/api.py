"""The few Kubernetes calls that the lab's nodes make, through whichever API server answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import ConflictError, NotReadyError, UnreachableError
from talops.lab.kubernetes.apiserver import PORT
from talops.lab.kubernetes.http import Http

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

_NOT_FOUND = 404
_SERVER_ERROR = 500
_TOO_MANY = 429
# How often a silent watch checks that its API server still runs.
_LOOK = 1.0


class KubeApi:
    """`endpoints` is evaluated for each call, because API servers start and stop."""

    def __init__(self, endpoints: Callable[[], Sequence[str]], context: ssl.SSLContext) -> None:
        self._endpoints = endpoints
        self._http = _http(context)
        self._former: list[Http] = []

    def use(self, context: ssl.SSLContext) -> None:
        """From now on; running calls end with their own."""
        self._former.append(self._http)
        self._http = _http(context)

    async def close(self) -> None:
        for http in (*self._former, self._http):
            await http.close()

    async def get(self, path: str) -> dict[str, Any] | None:
        reply = await self._request("GET", path)
        return None if reply is None else dict(reply)

    async def apply(self, path: str, body: Mapping[str, Any], *, manager: str) -> dict[str, Any]:
        """Server-side apply; the caller owns every field that it sends."""
        reply = await self._request(
            "PATCH",
            f"{path}?fieldManager={manager}&force=true",
            json.dumps(body),
            "application/apply-patch+yaml",
        )
        return dict(reply or {})

    async def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return dict(await self._request("POST", path, json.dumps(body)) or {})

    async def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Lists whose elements have keys are merged by key, as kubelets send their statuses."""
        kind = "application/strategic-merge-patch+json"
        reply = await self._request("PATCH", path, json.dumps(body), kind)
        return None if reply is None else dict(reply)

    async def merge(self, path: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        kind = "application/merge-patch+json"
        reply = await self._request("PATCH", path, json.dumps(body), kind)
        return None if reply is None else dict(reply)

    async def delete(self, path: str, options: Mapping[str, Any] | None = None) -> None:
        await self._request("DELETE", path, json.dumps(options) if options else None)

    async def watch(self, path: str, version: str) -> AsyncIterator[dict[str, Any]]:
        """Changes since this version; ends with its API server, or when that ends it."""
        address = next(iter(self._endpoints()), None)
        if address is None:
            raise UnreachableError("no API server is up", where=path)
        url = f"https://{address}:{PORT}{path}?watch=1&resourceVersion={version}"
        try:
            reply = await self._http.stream(url)
        except httpx.HTTPError as error:
            raise UnreachableError(f"{address}: {error}", where=path) from error
        try:
            if not reply.is_success:
                await reply.aread()
                _content(reply, url)
            async for line in self._lines(reply, address):
                yield json.loads(line)
        finally:
            await reply.aclose()

    async def _lines(self, reply: httpx.Response, address: str) -> AsyncIterator[str]:
        """A server that lost its network neither sends nor closes."""
        lines = reply.aiter_lines()
        while True:
            line: asyncio.Future[str] = asyncio.ensure_future(anext(lines))
            try:
                while not (await asyncio.wait({line}, timeout=_LOOK))[0]:
                    if address not in self._endpoints():
                        return
                yield line.result()
            except (StopAsyncIteration, httpx.HTTPError):
                return
            finally:
                line.cancel()
                with contextlib.suppress(Exception, asyncio.CancelledError):
                    await line

    async def _request(
        self, method: str, path: str, content: str | None = None, kind: str = "application/json"
    ) -> Mapping[str, Any] | None:
        failure = "no API server is up"
        for address in self._endpoints():
            url = f"https://{address}:{PORT}{path}"
            try:
                reply = await self._http.request(
                    method, url, content=content, headers={"Content-Type": kind}
                )
            except httpx.HTTPError as error:
                failure = f"{address}: {error or type(error).__name__}"
                continue
            return _content(reply, url)
        raise UnreachableError(failure, where=path)


def _http(context: ssl.SSLContext) -> Http:
    limits = httpx.Limits(max_connections=32, max_keepalive_connections=32)
    return Http(context, timeout=10, limits=limits)


def _content(reply: httpx.Response, url: str) -> Mapping[str, Any] | None:
    if reply.is_success:
        content: Mapping[str, Any] = reply.json()
        return content
    if reply.status_code == _NOT_FOUND:
        return None
    busy = reply.status_code >= _SERVER_ERROR or reply.status_code == _TOO_MANY
    kind = NotReadyError if busy else ConflictError
    raise kind(reply.text, where=url)
