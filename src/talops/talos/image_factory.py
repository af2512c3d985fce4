"""The Image Factory: where a schematic is made known, so that its images can be had."""

from __future__ import annotations

from http import HTTPStatus

import httpx

from talops.errors import TalopsError, UnreachableError

TIMEOUT = 30.0


async def register_schematic(
    url: str, text: str, *, transport: httpx.AsyncBaseTransport | None = None
) -> str:
    """Make a schematic known and give its id; doing so again changes nothing."""
    address = f"{url.rstrip('/')}/schematics"
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT, transport=transport) as client:
            reply = await client.post(address, content=text.encode())
    except httpx.HTTPError as error:
        raise UnreachableError(
            f"the Image Factory does not answer: {error}",
            where=address,
            hint="check the network and image_factory_url, then run the same command again",
        ) from error
    if reply.status_code not in {HTTPStatus.OK, HTTPStatus.CREATED}:
        raise TalopsError(
            f"the Image Factory refused the schematic ({reply.status_code}): {reply.text.strip()}",
            where=address,
        )
    try:
        return str(reply.json()["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise TalopsError(
            "this is no Image Factory: the reply holds no id", where=address
        ) from error
