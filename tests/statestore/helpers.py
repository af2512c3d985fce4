"""Values and small actors that the state server's tests share."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

import httpx

from talops.statestore.model import Actor, Draft, Lock

if TYPE_CHECKING:
    from talops.statestore.application import Application
    from talops.statestore.store import Store

ACTOR = Actor("alice", "127.0.0.1")
LINEAGE = "3f6c1f6e"
NOW = 1_800_000_000.0


def lock_of(lock_id: str, who: str = "alice@laptop") -> Lock:
    return Lock(lock_id, json.dumps(lock_document(lock_id, who)).encode())


def lock_document(lock_id: str, who: str = "alice@laptop") -> dict[str, str]:
    created = "2026-01-02T03:04:05.678901234Z"
    return {"ID": lock_id, "Operation": "OperationTypeApply", "Who": who, "Created": created}


def state_body(serial: int, *, lineage: str = LINEAGE, padding: int = 0) -> bytes:
    """A state as tofu writes it; `padding` makes it large."""
    document: dict[str, Any] = {
        "version": 4,
        "terraform_version": "1.12.6",
        "serial": serial,
        "lineage": lineage,
        "outputs": {"filler": {"value": f"{serial:06d}" * (padding // 6), "type": "string"}},
        "resources": [],
    }
    return json.dumps(document, indent=2).encode()


def md5_header(body: bytes) -> dict[str, str]:
    return {"Content-MD5": base64.b64encode(hashlib.md5(body).digest()).decode()}


def draft_of(
    body: bytes, *, lock_id: str = "", force: bool = False, at: float = NOW, blob: str = ""
) -> Draft:
    document = json.loads(body)
    return Draft(
        document["serial"],
        document["lineage"],
        len(body),
        hashlib.md5(body).hexdigest(),
        ACTOR,
        at,
        lock_id,
        force,
        blob=blob,
        body=b"" if blob else body,
    )


async def staged(store: Store, body: bytes) -> str:
    staging = await store.stage()
    for place in range(0, len(body), 1024 * 1024):
        piece = body[place : place + 1024 * 1024]
        await staging.write(lambda piece=piece: [piece])  # type: ignore[misc]  # a default binds it
    return await staging.finish()


async def content_of(store: Store, state: str, number: int | None = None) -> bytes | None:
    stored = await store.read(state, number)
    if stored is None:
        return None
    if stored.body is not None:
        return stored.body
    return b"".join([piece async for piece in store.stream(stored.version.blob)])


def client_of(application: Application) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(application), base_url="http://states.test"
    )
