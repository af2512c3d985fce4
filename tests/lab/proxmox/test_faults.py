"""Faults: each kind, by API and by file."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from talops.errors import TalopsError
from talops.lab.faults import KINDS, Faults, parse

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve


def break_it(pve: Pve, **rule: Any) -> None:
    pve.world.faults.add(parse(rule))


async def test_errors_before_the_work(pve: Pve) -> None:
    """The status and the message are the rule's; nothing was done; then it is over."""
    break_it(pve, kind="error", method="POST", path="^/pools$", status=503, message="busy", times=1)
    refused = await pve.send("POST", "/pools", poolid="a")
    assert (refused.status_code, refused.reason_phrase) == (503, "busy")
    assert await pve.call("GET", "/pools") == []
    assert (await pve.send("POST", "/pools", poolid="a")).is_success


async def test_errors_after_the_work(pve: Pve) -> None:
    """The worse kind: the caller hears no, and it was done."""
    break_it(pve, kind="error", method="POST", when="after", times=1)
    assert (await pve.send("POST", "/pools", poolid="a")).status_code == 500
    assert [pool["poolid"] for pool in await pve.call("GET", "/pools")] == ["a"]


@pytest.mark.parametrize(("when", "left"), [("before", []), ("after", ["a"])])
async def test_dropped_connections(pve: Pve, when: str, left: list[str]) -> None:
    """No answer at all, before the work or after it."""
    break_it(pve, kind="drop", method="POST", when=when, times=1)
    with pytest.raises(httpx.TransportError):
        await pve.send("POST", "/pools", poolid="a")
    assert [pool["poolid"] for pool in await pve.call("GET", "/pools")] == left


async def test_latency(pve: Pve) -> None:
    """Answers come later."""
    break_it(pve, kind="latency", path="/version", seconds=0.3)
    started = time.monotonic()
    await pve.call("GET", "/version")
    assert time.monotonic() - started >= 0.3


async def test_a_locked_vm(pve: Pve) -> None:
    """As if a backup ran."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101)
    break_it(pve, kind="vm-locked", vmid=101, times=1)
    refused = await pve.send("PUT", "/nodes/pve/qemu/101/config", cores=2)
    assert refused.reason_phrase == "VM is locked (backup)"
    assert (await pve.send("PUT", "/nodes/pve/qemu/101/config", cores=2)).is_success


async def test_a_full_storage(pve: Pve) -> None:
    """Shown in its status, and met by every user who needs space."""
    break_it(pve, kind="storage-full", storage="local-lvm")
    assert (await pve.call("GET", "/nodes/pve/storage/local-lvm/status"))["avail"] == 0
    ended = await pve.task("POST", "/nodes/pve/qemu", vmid=101, efidisk0="local-lvm:1,efitype=4m")
    assert "reached threshold" in ended


async def test_a_revoked_token(pve: Pve) -> None:
    """Only that token is refused."""
    break_it(pve, kind="token-revoked", token="root@pam!lab")
    refused = await pve.send("GET", "/version")
    assert (refused.status_code, refused.reason_phrase) == (401, "Authentication failed!")
    pve.world.faults.remove(None)
    break_it(pve, kind="token-revoked", token="other@pve!x")
    assert (await pve.send("GET", "/version")).is_success


async def test_a_wrong_clock(pve: Pve) -> None:
    """The host believes its own clock."""
    break_it(pve, kind="clock-skew", seconds=-86_400)
    shown = (await pve.call("GET", "/nodes/pve/time"))["time"]
    assert shown < time.time() - 80_000


async def test_an_offline_node(pve: Pve) -> None:
    """It does not answer, and that is not an empty answer."""
    break_it(pve, kind="node-offline", node="pve")
    with pytest.raises(httpx.TransportError):
        await pve.send("GET", "/version")


async def test_a_task_that_fails_at_a_step(pve: Pve) -> None:
    """At that step of that kind of task, with that message."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101)
    break_it(pve, kind="task", task="qmstart", step="power-on", message="got timeout", times=1)
    assert await pve.task("POST", "/nodes/pve/qemu/101/status/start") == "got timeout"
    assert await pve.task("POST", "/nodes/pve/qemu/101/status/start") == "OK"


async def test_faults_from_a_file(pve: Pve) -> None:
    """Read when it changes, gone when it goes; a broken file changes nothing and is reported."""
    file = pve.world.layout.faults
    file.write_text(json.dumps([{"kind": "error", "path": "/version", "status": 502}]))
    assert (await pve.send("GET", "/version")).status_code == 502
    file.write_text("[{")
    assert (await pve.send("GET", "/version")).status_code == 502
    assert str(file) in pve.world.faults.problem
    file.unlink()
    assert (await pve.send("GET", "/version")).is_success


async def test_faults_by_api(pve: Pve) -> None:
    """Add, list, clear; only with the lab's token."""
    control = pve.world.endpoints()["control"]
    headers = {"Authorization": f"Bearer {control['token']}"}
    async with httpx.AsyncClient(base_url=control["url"], headers=headers) as http:
        added = await http.post("/faults", json={"kind": "error", "path": "/version", "times": 1})
        assert added.status_code == 201
        assert (await pve.send("GET", "/version")).status_code == 500
        listed = (await http.get("/faults")).json()
        assert [(rule["id"], rule["seen"]) for rule in listed] == [(added.json()["id"], 1)]
        wrong = await http.post("/faults", json={"kind": "meteor"})
        assert wrong.status_code == 400
        assert (await http.delete("/faults")).json() == {"removed": 1}
    async with httpx.AsyncClient(base_url=control["url"]) as stranger:
        assert (await stranger.get("/faults")).status_code == 401


def test_rules_count(tmp_path: Path) -> None:
    """`skip` lets the first ones pass, `times` ends it, a seed makes chance repeatable."""
    faults = Faults(tmp_path / "none")
    faults.add(parse({"kind": "error", "skip": 2, "times": 2}))
    assert [faults.find("error") is not None for _ in range(6)] == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    rows = []
    for _ in range(2):
        faults = Faults(tmp_path / "none")
        faults.add(parse({"kind": "error", "probability": 0.5, "seed": 7}))
        rows.append([faults.find("error") is not None for _ in range(20)])
    assert rows[0] == rows[1]
    assert {True, False} == set(rows[0])


@pytest.mark.parametrize("rule", [{"kind": "meteor"}, {"kind": "error", "colour": "red"}, {}])
def test_wrong_rules_are_refused(rule: dict[str, Any]) -> None:
    """With the kinds that there are."""
    with pytest.raises(TalopsError) as refused:
        parse(rule)
    assert all(kind in str(refused.value.hint) for kind in KINDS)


async def test_parallel_faults_do_not_mix_up_answers(pve: Pve) -> None:
    """One slow path leaves the others alone."""
    break_it(pve, kind="latency", path="/pools", seconds=5)
    slow = asyncio.create_task(pve.send("GET", "/pools"))
    assert (await pve.send("GET", "/version")).is_success
    assert not slow.done()
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)
