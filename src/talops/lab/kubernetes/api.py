"""The few Kubernetes calls that the lab's nodes make, through whichever API server answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import ConflictError, NotReadyError, UnreachableError
from talops.lab.kubernetes.apiserver import PORT
from talops.lab.kubernetes.http import Http

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping, Sequence

_NOT_FOUND = 404
_SERVER_ERROR = 500


class KubeApi:
    """`endpoints` is evaluated for each call, because API servers start and stop."""

    def __init__(self, endpoints: Callable[[], Sequence[str]], context: ssl.SSLContext) -> None:
        self._endpoints = endpoints
        limits = httpx.Limits(max_connections=32, max_keepalive_connections=32)
        self._http = Http(context, timeout=10, limits=limits)

    async def close(self) -> None:
        await self._http.close()

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

    async def merge(self, path: str, body: Mapping[str, Any]) -> None:
        await self._request("PATCH", path, json.dumps(body), "application/merge-patch+json")

    async def delete(self, path: str) -> None:
        await self._request("DELETE", path)

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


def _content(reply: httpx.Response, url: str) -> Mapping[str, Any] | None:
    if reply.is_success:
        content: Mapping[str, Any] = reply.json()
        return content
    if reply.status_code == _NOT_FOUND:
        return None
    kind = NotReadyError if reply.status_code >= _SERVER_ERROR else ConflictError
    raise kind(reply.text, where=url)
