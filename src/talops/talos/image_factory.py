"""Client of the Image Factory: registers schematics, and lists the releases that it has."""

from __future__ import annotations

import ssl
from functools import cached_property
from http import HTTPStatus
from typing import Any

import httpx

from talops.answersize import limits
from talops.errors import TalopsError, UnreachableError

TIMEOUT = 30.0


class ImageFactory:
    """One factory; `ca_file` is for private ones with a CA of their own."""

    def __init__(
        self,
        url: str,
        *,
        ca_file: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._ca_file = ca_file
        self._transport = transport

    async def register(self, text: str) -> str:
        """Register a schematic and return its id; repeating it changes nothing."""
        reply = await self._ask("POST", "/schematics", content=text.encode())
        if reply.status_code not in {HTTPStatus.OK, HTTPStatus.CREATED}:
            raise TalopsError(
                "the Image Factory refused the schematic "
                f"({reply.status_code}): {reply.text.strip()}",
                where=f"{self.url}/schematics",
            )
        try:
            return str(reply.json()["id"])
        except (ValueError, KeyError, TypeError) as error:
            raise TalopsError(
                "this is not an Image Factory: the reply has no id", where=f"{self.url}/schematics"
            ) from error

    async def knows(self, schematic: str) -> bool:
        reply = await self._ask("GET", f"/schematics/{schematic}")
        if reply.status_code in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
            return reply.status_code == HTTPStatus.OK
        raise TalopsError(
            f"the Image Factory answered {reply.status_code}: {reply.text.strip()[:200]}",
            where=f"{self.url}/schematics/{schematic}",
        )

    async def versions(self) -> frozenset[str] | None:
        """The Talos releases that it has images of; None if it does not list them."""
        reply = await self._ask("GET", "/versions")
        if reply.status_code in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}:
            return None  # a mirror of images only
        try:
            listed = reply.json() if reply.status_code == HTTPStatus.OK else None
        except ValueError:
            listed = None
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise TalopsError(
                f"the Image Factory does not list its versions ({reply.status_code})",
                where=f"{self.url}/versions",
            )
        return frozenset(listed)

    @cached_property
    def _trust(self) -> ssl.SSLContext | bool:
        return ssl.create_default_context(cafile=self._ca_file) if self._ca_file else True

    async def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            async with httpx.AsyncClient(
                timeout=TIMEOUT,
                transport=self._transport,
                verify=self._trust,
                event_hooks=limits(),
            ) as client:
                return await client.request(method, self.url + path, **more)
        except httpx.HTTPError as error:
            raise UnreachableError(
                f"the Image Factory does not answer: {error or type(error).__name__}",
                where=self.url + path,
                hint="check the network and image_factory_url, then run the same command again",
            ) from error


async def register_schematic(
    url: str, text: str, *, transport: httpx.AsyncBaseTransport | None = None
) -> str:
    return await ImageFactory(url, transport=transport).register(text)
