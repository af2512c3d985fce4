"""What the lab's TrueNAS puts on the wire, in the shapes of the real one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.truenas.nas import NEW, OLD, running
from websockets.asyncio.client import connect

from talops.cli.lab.commands import _spec
from talops.errors import TalopsError
from talops.lab.spec import LabSpec, TrueNasSpec, truenas_of, usual
from talops.lab.truenas.service import apis
from talops.lab.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from tests.truenas.nas import Nas


class Socket:
    """One raw JSON-RPC connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def say(self, text: str) -> dict[str, Any]:
        await self._connection.send(text)
        answer: dict[str, Any] = json.loads(await self._connection.recv())
        return answer

    async def ask(self, method: str, *params: Any) -> dict[str, Any]:
        asked = {"jsonrpc": "2.0", "id": 7, "method": method, "params": list(params)}
        return await self.say(json.dumps(asked))


def socket(nas: Nas) -> connect:
    access = nas.access()
    return connect(access.socket, ssl=access.trust(), proxy=None)


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("24.10.2", (False, True)),
        ("25.04", (True, True)),
        ("25.10.1", (True, True)),
        ("26.04", (True, False)),
    ],
)
def test_what_each_version_speaks(version: str, found: tuple[bool, bool]) -> None:
    """JSON-RPC since 25.04, REST until 25.10."""
    assert apis(version) == found


def test_versions_are_checked() -> None:
    """A word is not a version; the flag of `lab start` changes nothing but it."""
    made = _spec(None, [], None, None, "24.10")
    assert made == usual().model_copy(update={"truenas": TrueNasSpec(version="24.10")})
    assert truenas_of("24.10", TrueNasSpec()).version == "24.10"
    with pytest.raises(TalopsError, match="not a version"):
        truenas_of("latest", TrueNasSpec())


async def test_errors_by_json_rpc(tmp_path: Path) -> None:
    """-32001 with errname and reason; -32602 with one row per field; the standard's own codes."""
    async with running(tmp_path / "lab", NEW) as nas, socket(nas) as connection:
        rpc = Socket(connection)
        stranger = await rpc.ask("pool.query")
        assert stranger["error"]["code"] == -32001
        assert stranger["error"]["data"]["errname"] == "ENOTAUTHENTICATED"
        assert (await rpc.ask("auth.login_with_api_key", "1-wrong"))["result"] is False
        key = nas.service.keys
        login = {"mechanism": "API_KEY_PLAIN", "username": "auditor", "api_key": key[1].key}
        assert (await rpc.ask("auth.login_ex", login))["result"]["response_type"] == "SUCCESS"
        denied = await rpc.ask("pool.dataset.create", {"name": "tank/a"})
        assert denied["error"]["data"] == {
            "error": 13,
            "errname": "EACCES",
            "reason": "[EACCES] Not authorized",
            "trace": None,
            "extra": None,
        }
        assert (await rpc.ask("auth.login_with_api_key", key[0].key))["result"] is True
        wrong = (await rpc.ask("pool.dataset.create", {"name": "x", "quota": 5}))["error"]
        assert (wrong["code"], wrong["message"]) == (-32602, "Invalid params")
        assert [row[0] for row in wrong["data"]["extra"]] == [
            "pool_dataset_create.quota",
            "pool_dataset_create.name",
        ]
        gone = (await rpc.ask("pool.dataset.update", "tank/x", {}))["error"]["data"]
        assert gone["reason"] == "[ENOENT] id: tank/x does not exist\n"
        full = (await rpc.ask("pool.dataset.create", {"name": "full/x"}))["error"]["data"]
        assert full["reason"] == "[EFAULT] Failed to create dataset: out of space"
        assert (await rpc.ask("core.ping"))["result"] == "pong"
        assert (await rpc.ask("pool.dataset.delete", "tank"))["error"]["code"] == -32601
        assert (await rpc.say("{"))["error"]["code"] == -32700
        assert (await rpc.say('{"id": 1, "method": "core.ping"}'))["error"]["code"] == -32600


async def test_errors_by_rest(tmp_path: Path) -> None:
    """401, 403, and 422 with a message and a number, or with rows for each field."""
    async with (
        running(tmp_path / "lab", OLD) as nas,
        httpx.AsyncClient(base_url=f"{nas.url}/api/v2.0/", verify=nas.access().trust()) as http,
    ):
        assert (await http.get("pool")).status_code == 401

        def ask(verb: str, path: str, key: int = 0, **more: Any) -> Any:
            bearer = {"Authorization": f"Bearer {nas.service.keys[key].key}"}
            return http.request(verb, path, headers=bearer, **more)

        assert (await ask("POST", "pool/dataset", 1, json={"name": "tank/a"})).status_code == 403
        full = await ask("POST", "pool/dataset", json={"name": "full/x"})
        assert full.status_code == 422
        assert full.json() == {"message": "Failed to create dataset: out of space", "errno": 14}
        gone = await ask("PUT", "pool/dataset/id/tank%2Fx", json={})
        assert gone.json() == {"id": [{"message": "tank/x does not exist", "errno": 2}]}
        assert (await ask("POST", "pool/dataset", content=b"{")).status_code == 400
        assert (await ask("GET", "vm")).status_code == 404
        named = await ask("GET", "pool/dataset", params={"id": "tank", "limit": 1})
        assert [entry["id"] for entry in named.json()] == ["tank"]
        assert named.json()[0]["compression"]["source"] == "LOCAL"
        assert (await http.get(f"{nas.url}/api/versions")).status_code == 302


async def test_a_lab_remembers_its_datasets(tmp_path: Path) -> None:
    """The same key and datasets after a restart; none after a reset."""
    async with World(tmp_path / "lab", LabSpec()) as world:
        before = world.endpoints()["truenas"]
        world.truenas.middleware._methods.table["pool.dataset.create"].run({"name": "tank/a"})
        world.truenas.middleware.zfs.commit()
    async with World(tmp_path / "lab") as world:
        assert world.endpoints()["truenas"] == before
        assert "tank/a" in world.truenas.middleware.zfs.datasets
        await world.reset()
        assert "tank/a" not in world.truenas.middleware.zfs.datasets
