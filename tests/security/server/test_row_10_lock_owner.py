"""A lock belongs to its user: its id, which each refusal shows, opens nothing (row 10)."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.statestore.access.people import login, person, save
from tests.statestore.helpers import client_of, lock_document, md5_header, state_body

from talops.statestore.application import Application, Limits
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import Guard
from talops.statestore.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx

STATE = "/homelab/platform"
LOCK = json.dumps(lock_document("a"))


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Alice and bob may write, carol may also remove the locks of others."""
    book = save(
        folder / "users.json",
        person("alice"),
        person("bob"),
        person("carol", force=("homelab/*",)),
    )
    store = SqliteStore(folder / "states")
    application = Application(store, BodyCipher(None), Guard(book), Limits())
    async with client_of(application) as client:
        yield client
    await store.close()


async def post(client: httpx.AsyncClient, serial: int, lock_id: str, who: str) -> int:
    body = state_body(serial)
    answer = await client.post(
        f"{STATE}?ID={lock_id}", content=body, headers=md5_header(body), auth=login(who)
    )
    return answer.status_code


async def actions(client: httpx.AsyncClient) -> list[tuple[str, str, str]]:
    found = (await client.get("/-/audit", auth=login("carol"))).json()
    return [(entry["who"], entry["action"], entry["detail"]) for entry in reversed(found)]


async def test_the_id_of_a_refusal_does_not_write(tmp_path: Path) -> None:
    """Bob takes the id from the 423 and writes with it: refused, and recorded."""
    async with served(tmp_path) as client:
        await client.request("LOCK", STATE, content=LOCK, auth=login("alice"))
        refused = await client.request(
            "LOCK", STATE, content=json.dumps(lock_document("b")), auth=login("bob")
        )
        assert (refused.status_code, refused.json()["ID"]) == (423, "a")
        assert await post(client, 7, "a", "bob") == 403
        assert (await client.get(STATE, auth=login("bob"))).status_code == 404
        assert await post(client, 1, "a", "alice") == 200
        assert ("bob", "write-refused", "denied: lock a") in await actions(client)


@pytest.mark.parametrize(
    "body", [LOCK, '{"ID":"a"}', "", '{"ID":"a","Operation":"talops"}'], ids=str
)
async def test_the_unlock_of_another_user_needs_the_right(tmp_path: Path, body: str) -> None:
    """Neither the echoed document nor the forms of force-unlock free a lock of alice for bob."""
    async with served(tmp_path) as client:
        await client.request("LOCK", STATE, content=LOCK, auth=login("alice"))
        refused = await client.request("UNLOCK", STATE, content=body, auth=login("bob"))
        assert refused.status_code == 403
        assert "belongs to alice" in refused.json()["error"]
        assert (await client.get(STATE + "/lock", auth=login("bob"))).json()["ID"] == "a"
        done = await client.request("UNLOCK", STATE, content=body, auth=login("carol"))
        assert done.status_code == 200
        assert await post(client, 1, "a", "alice") == 409, "her lock is gone"
        found = await actions(client)
        assert ("bob", "unlock-refused", "lock a") in found
        assert ("carol", "force-unlock", "lock a of alice") in found


async def test_a_lock_sent_again_by_another_user_is_not_theirs(tmp_path: Path) -> None:
    """A repeated LOCK succeeds for its holder only."""
    async with served(tmp_path) as client:
        codes = [
            (await client.request("LOCK", STATE, content=LOCK, auth=login(who))).status_code
            for who in ("alice", "bob", "alice")
        ]
        assert codes == [200, 423, 200]


@pytest.mark.parametrize("body", ["", '{"ID":"a"}'])
async def test_own_locks_are_removed_by_force(tmp_path: Path, body: str) -> None:
    """A machine of alice died: `force-unlock` works for her on another one, and is recorded."""
    async with served(tmp_path) as client:
        await client.request("LOCK", STATE, content=LOCK, auth=login("alice"))
        done = await client.request("UNLOCK", STATE, content=body, auth=login("alice"))
        assert done.status_code == 200
        assert ("alice", "force-unlock", "lock a") in await actions(client)
