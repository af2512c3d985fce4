"""Sending recorded requests to the lab and comparing its answers with those of the real API."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import httpx
from tests.recordings.proxmox import FACTORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.lab.proxmox.conftest import Pve
    from tests.recordings.proxmox import Recorded

ISO = f"{FACTORY}/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.13.9"
FETCH = "/nodes/pve/storage/local/download-url"
A_ISO = (FETCH, {"content": "iso", "filename": "a.iso", "url": f"{ISO}/nocloud-amd64.iso"})
X_RAW = (FETCH, {"content": "import", "filename": "x.raw", "url": f"{ISO}/nocloud-amd64.raw"})
IMPORTED = {
    "vmid": 111,
    "name": "imp",
    "scsi0": "local-lvm:0,import-from=local:import/x.raw,iothread=1",
    "ide2": "local-lvm:cloudinit",
    "net0": "virtio,bridge=vmbr0",
}
# What earlier sessions had left behind when a session was recorded.
GIVEN: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "vmcreate": (A_ISO, X_RAW),
    "vmconfig": (A_ISO,),
    "power": (A_ISO, X_RAW, ("/nodes/pve/qemu", {"vmid": 100}), ("/nodes/pve/qemu", IMPORTED)),
}
TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "str": (str,),
    "int": (int,),
    "int?": (int, str),
    "number": (int, float),
    "list": (list,),
    "obj": (dict,),
}
IDS = ("iface", "vmid", "volid", "storage", "poolid", "roleid", "key", "id", "node", "userid")
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
BAD = {
    "bad-token": {"Authorization": "PVEAPIToken=root@pam!lab=wrong"},
    "malformed-token": {"Authorization": "PVEAPIToken=rubbish"},
    "unknown-user-token": {"Authorization": f"PVEAPIToken=nobody@pve!a={'0' * 8}"},
    "bad-ticket": {"Cookie": "PVEAuthCookie=PVE:root@pam:00000000::rubbish"},
}


class Replay:
    """One session against one fresh lab."""

    def __init__(self, pve: Pve) -> None:
        self._pve = pve
        self._factory = pve.world.factory.endpoints()["url"]
        self._password = pve.world.identity.credentials.password
        self._ticket: dict[str, str] = {}

    async def prepare(self, session: str) -> None:
        """Make what the session found when it was recorded."""
        for path, params in GIVEN.get(session, ()):
            assert await self._pve.task("POST", path, **self._filled(params)) == "OK"
        login = {"username": "root@pam", "password": self._password}
        made = await self._pve.call("POST", "/access/ticket", **login)
        cookie = f"PVEAuthCookie={made['ticket'].replace(':', '%3A').replace('@', '%40')}"
        self._ticket = {"Cookie": cookie, "CSRFPreventionToken": made["CSRFPreventionToken"]}

    def _filled(self, params: dict[str, Any]) -> dict[str, str]:
        factory, password = (FACTORY, self._factory), ("<password>", self._password)
        return {
            key: str(value).replace(*factory).replace(*password) for key, value in params.items()
        }

    def _headers(self, caller: str) -> dict[str, str]:
        if caller == "token":
            return {"Authorization": self._pve.http.headers["Authorization"]}
        if caller == "ticket":
            return self._ticket
        if caller.startswith("ticket-"):
            wrong = {"CSRFPreventionToken": "00000000:wrong"} if "wrong" in caller else {}
            return {"Cookie": self._ticket["Cookie"], **wrong}
        return BAD.get(caller, {})

    async def send(self, recorded: Recorded) -> Iterator[str]:
        """The differences between the lab's answer and the recorded one."""
        url = httpx.URL(str(self._pve.http.base_url).rstrip("/") + recorded.path)
        params = self._filled(recorded.params)
        place = "params" if recorded.method in {"GET", "DELETE", "PATCH"} else "data"
        async with httpx.AsyncClient(
            verify=self._pve.world.authority.client_context(), timeout=30
        ) as http:
            answer = await http.request(
                recorded.method,
                url,
                headers=self._headers(recorded.caller),
                **{place: params or None},  # type: ignore[arg-type]  # two names for one mapping
            )
        ended = await self._ended(answer)
        if recorded.removed and ended == "OK":
            gone = f"/nodes/pve/qemu/{recorded.removed}"
            assert await self._pve.task("DELETE", gone) == "OK"
        return iter([*_compare(recorded, answer), *_compare_end(recorded, ended)])

    async def _ended(self, answer: httpx.Response) -> str | None:
        """How the task ended that this call started, if it started one."""
        data = answer.json().get("data") if answer.is_success and answer.content else None
        if not (isinstance(data, str) and data.startswith("UPID:")):
            return None
        tasks = self._pve.world.proxmox.hypervisors["pve"].tasks
        await tasks.wait(data)
        return tasks.table[data].exitstatus


def _compare_end(recorded: Recorded, ended: str | None) -> Iterator[str]:
    if recorded.exit is not None and _plain(ended or "") != _plain(recorded.exit):
        yield f"exit: real {recorded.exit!r}, lab {ended!r}"


def _compare(recorded: Recorded, answer: httpx.Response) -> Iterator[str]:
    if answer.status_code != recorded.status:
        yield f"status: real {recorded.status}, lab {answer.status_code} {answer.reason_phrase}"
        return
    if _plain(answer.reason_phrase) != _plain(recorded.reason):
        yield f"reason: real {recorded.reason!r}, lab {answer.reason_phrase!r}"
    if recorded.empty and answer.content:
        yield "body: real is empty"
    body = json.loads(answer.content) if answer.content else {}
    for name, wanted in recorded.errors.items():
        found = body.get("errors", {}).get(name)
        if not _same_error(wanted, found):
            yield f"error of {name}: real {wanted!r}, lab {found!r}"
    for path, wanted in recorded.body.items():
        problem = _body_problem(wanted, *_find(body, path))
        if problem:
            yield f"{path}: {problem}"


def _plain(text: str) -> str:
    return re.sub(r"\.tmp(?:_\w+)?\.\d+|" + UUID, "<>", text).strip()


def _same_error(wanted: Any, found: str | None) -> bool:
    """Proxmox gives out the lines of one error in any order."""
    if isinstance(wanted, dict):
        # Cut off where it was recorded: the first line that is whole must be there.
        start = str(wanted["start"]).split("\n")
        return found is not None and all(line in found.split("\n") for line in start[:-1])
    if wanted is None or found is None:
        return bool(wanted == found)
    return sorted(str(wanted).strip().split("\n")) == sorted(found.strip().split("\n"))


def _find(body: Any, path: str) -> tuple[bool, Any]:
    """Whether there is such a place in the body, and what is there."""
    for name, row in re.findall(r"\.([^.\[]+(?:\.\d(?=\.))?)|\[([^\]]+)\]", path):
        if name:
            if not isinstance(body, dict) or name not in body:
                return False, None
            body = body[name]
            continue
        rows = body if isinstance(body, list) else []
        found = [r for r in rows if any(str(r.get(key)) == row for key in IDS)]
        if not found:
            return False, None
        body = found[-1]
    return True, body


def _body_problem(wanted: dict[str, Any], there: bool, found: Any) -> str:
    if wanted.get("absent"):
        return f"only the lab has it: {found!r}" if there else ""
    if not there:
        return f"real has it: {wanted}"
    if "count" in wanted and len(found or ()) != wanted["count"]:
        return f"real has {wanted['count']} rows, lab {len(found or ())}"
    if "type" in wanted and not isinstance(found, TYPES[wanted["type"]]):
        return f"real is {wanted['type']}, lab {found!r}"
    if "value" in wanted and _shape(wanted["value"]) != _shape(found):
        return f"real {wanted['value']!r}, lab {found!r}"
    return ""


def _shape(value: Any) -> Any:
    """Without what is another one each time: ids, times, the order inside of lists."""
    if not isinstance(value, str):
        return value
    upid = re.fullmatch(r"UPID:(?:[^:]*:){4}([^:]*):([^:]*):([^:]*):", value)
    if upid:
        return f"UPID<{upid[1]}:{upid[2]}:{upid[3]}>"
    return ",".join(sorted(re.sub(UUID, "<uuid>", value).split(",")))
