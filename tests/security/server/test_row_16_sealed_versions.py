"""With a key, the store serves no old version as the newest, and no invented one (row 16)."""

from __future__ import annotations

import base64
import os
import sqlite3
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from tests.statestore.helpers import client_of, md5_header, state_body

from talops.statestore.application import Application, Limits
from talops.statestore.encryption.keys import Keyring, MasterKey
from talops.statestore.encryption.sealing import BodyCipher
from talops.statestore.guard import OpenGuard
from talops.statestore.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import httpx

KEY = MasterKey(b"k" * 32)
STATE = "/homelab/platform"
NAME = "homelab/platform"


@asynccontextmanager
async def served(
    folder: Path, *, key: MasterKey | None = KEY, plaintext: bool = False
) -> AsyncIterator[httpx.AsyncClient]:
    ring = Keyring([key]) if key else None
    store = SqliteStore(folder, ring)
    vault = BodyCipher(ring, plaintext=plaintext)
    async with client_of(Application(store, vault, OpenGuard(), Limits())) as client:
        yield client
    await store.close()


async def post(client: httpx.AsyncClient, serial: int, padding: int = 0) -> None:
    body = state_body(serial, padding=padding)
    answer = await client.post(STATE, content=body, headers=md5_header(body))
    assert answer.status_code == 200


def tamper(folder: Path, statement: str, *values: Any) -> None:
    """As an attacker who can write to the database, but does not have the key."""
    with sqlite3.connect(folder / "states.db") as database:
        assert database.execute(statement, values).rowcount > 0
    database.close()


@pytest.mark.parametrize("padding", [0, 300_000])
@pytest.mark.parametrize(
    "columns",
    [
        "body, sealed_key, blob",
        "body, sealed_key, blob, serial, lineage, size, md5",
        "body, sealed_key, blob, serial, lineage, size, md5, lock_id, at, note",
    ],
)
async def test_an_old_version_under_the_newest_number(
    tmp_path: Path, columns: str, padding: int
) -> None:
    """All that the store has of version 1, under the number 2: an error, never the old state."""
    async with served(tmp_path) as client:
        await post(client, 1, padding)
        await post(client, 2, padding)
    tamper(
        tmp_path,
        f"UPDATE version SET ({columns}) = (SELECT {columns} FROM version WHERE number = 1)"
        " WHERE number = 2",
    )
    async with served(tmp_path) as client:
        answer = await client.get(STATE)
        assert answer.status_code == 500
        assert "belongs to another version" in answer.json()["error"]


@pytest.mark.parametrize(
    "change", ["serial = 9", "md5 = 'x'", "lineage = 'y'", "size = 1", "number = 5"]
)
async def test_marks_of_a_version_cannot_be_changed(tmp_path: Path, change: str) -> None:
    """The serial that a listing shows is the one that was written."""
    async with served(tmp_path) as client:
        await post(client, 1)
    tamper(tmp_path, f"UPDATE version SET {change}")
    if change.startswith("number"):
        tamper(tmp_path, "UPDATE state SET current = 5, number = 5")
    async with served(tmp_path) as client:
        assert (await client.get(STATE)).status_code == 500


async def test_injected_plaintext(tmp_path: Path) -> None:
    """An unencrypted state is refused where the server has a key, and nothing leaks."""
    async with served(tmp_path) as client:
        await post(client, 1)
    tamper(tmp_path, "UPDATE version SET body = ?, sealed_key = ''", state_body(1))
    async with served(tmp_path) as client:
        answer = await client.get(STATE)
        assert answer.status_code == 500
        assert "--accept-plaintext" in answer.json()["hint"]
        kept = await client.get(f"/-/states{STATE}/versions/1")
        assert kept.status_code == 500


@pytest.mark.parametrize("padding", [0, 300_000, 2_500_000])
async def test_states_from_before_the_key_are_moved(tmp_path: Path, padding: int) -> None:
    """With --accept-plaintext they are readable, one request encrypts them, then the flag goes."""
    async with served(tmp_path, key=None) as client:
        await post(client, 1, padding)
    async with served(tmp_path, plaintext=True) as client:
        assert (await client.get(STATE)).content == state_body(1, padding=padding)
        assert (await client.post("/-/rewrap")).json() == {"rewrapped": 0, "encrypted": 1}
        assert (await client.post("/-/rewrap")).json() == {"rewrapped": 0, "encrypted": 0}
    async with served(tmp_path) as client:
        assert (await client.get(STATE)).content == state_body(1, padding=padding)
        assert (await client.get(STATE + "/lock")).status_code == 404


async def test_versions_of_older_servers_stay_readable(tmp_path: Path) -> None:
    """Their keys name only the state; the next write and a rewrap bind them to their version."""
    body, data_key, nonce = state_body(1), os.urandom(32), os.urandom(12)
    wrapped = AESGCM(KEY.secret).encrypt(nonce, data_key, NAME.encode())
    old_key = f"{KEY.id}:{base64.b64encode(nonce + wrapped).decode()}"
    old_body = AESGCM(data_key).encrypt(b"\0" * 11 + b"\1", body, NAME.encode())
    async with served(tmp_path) as client:
        await post(client, 1)
    tamper(tmp_path, "UPDATE version SET body = ?, sealed_key = ?", old_body, old_key)
    async with served(tmp_path) as client:
        assert (await client.get(STATE)).content == body
        assert (await client.post("/-/rewrap")).json()["rewrapped"] == 1
        await post(client, 2)
    tamper(tmp_path, "UPDATE version SET serial = 7 WHERE number = 1")
    async with served(tmp_path) as client:
        assert (await client.get(f"/-/states{STATE}/versions/1")).status_code == 500
        assert (await client.get(STATE)).content == state_body(2)


@pytest.mark.parametrize("padding", [0, 300_000])
async def test_a_rollback_is_bound_to_its_new_number(tmp_path: Path, padding: int) -> None:
    """The copy opens, and so does the version that it was made from."""
    async with served(tmp_path) as client:
        await post(client, 1, padding)
        await post(client, 2, padding)
        done = await client.post(f"/-/states{STATE}/rollback?version=1")
        assert done.status_code == 200
        assert (await client.get(STATE)).content == state_body(1, padding=padding)
        for number in (1, 2, 3):
            kept = await client.get(f"/-/states{STATE}/versions/{number}")
            assert kept.status_code == 200, number
