"""etcd's JSON gateway: the calls that a Talos node makes to its etcd."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import ConflictError, NotReadyError, UnreachableError
from talops.lab.kubernetes.http import Http

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Iterable

_FAILED_PRECONDITION = 9
_UNAVAILABLE = 14
# etcd takes 128 operations and 1.5 MiB in one request (--max-txn-ops, --max-request-bytes).
_MOST_PUTS, _LARGEST = 100, 1 << 20


@dataclass(frozen=True)
class Member:
    """One etcd member; `name` is empty until it has started once."""

    id: int
    name: str
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]
    learner: bool


@dataclass(frozen=True)
class Alarm:
    """`kind` as etcd spells it: NOSPACE or CORRUPT."""

    member_id: int
    kind: str


class EtcdClient:
    """One endpoint of an etcd cluster."""

    def __init__(self, address: str, context: ssl.SSLContext) -> None:
        self.address = address
        self._http = Http(context, base_url=f"https://{address}:2379/v3", timeout=10.0)

    async def close(self) -> None:
        await self._http.close()

    async def members(self, *, local: bool = False) -> list[Member]:
        reply = await self._call("cluster/member/list", {"linearizable": not local})
        return [_member(item) for item in reply.get("members", [])]

    async def add_learner(self, peer_url: str) -> int:
        reply = await self._call("cluster/member/add", {"peerURLs": [peer_url], "isLearner": True})
        return int(reply["member"]["ID"])

    async def promote(self, member_id: int) -> None:
        await self._call("cluster/member/promote", {"ID": str(member_id)})

    async def remove(self, member_id: int) -> None:
        await self._call("cluster/member/remove", {"ID": str(member_id)})

    async def status(self) -> dict[str, Any]:
        return await self._call("maintenance/status", {})

    async def healthy(self) -> bool:
        """A linearizable read: only a member with quorum can answer."""
        try:
            await self._call("kv/range", {"key": _b64(b"health")})
        except (UnreachableError, NotReadyError, ConflictError):
            return False
        return True

    async def move_leader(self, target: int) -> None:
        await self._call("maintenance/transfer-leadership", {"targetID": str(target)})

    async def alarms(self) -> list[Alarm]:
        reply = await self._call("maintenance/alarm", {"action": "GET"})
        found = reply.get("alarms", [])
        return [Alarm(int(a.get("memberID", 0)), a.get("alarm", "NONE")) for a in found]

    async def disarm(self) -> list[Alarm]:
        before = await self.alarms()
        for alarm in before:
            await self._call(
                "maintenance/alarm",
                {"action": "DEACTIVATE", "memberID": str(alarm.member_id), "alarm": alarm.kind},
            )
        return before

    async def defragment(self) -> None:
        await self._call("maintenance/defragment", {})

    async def put(self, key: bytes, value: bytes) -> None:
        await self._call("kv/put", {"key": _b64(key), "value": _b64(value)})

    async def put_all(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """In transactions that are within the limits of etcd."""
        puts: list[dict[str, Any]] = []
        size = 0
        for key, value in pairs:
            if puts and (len(puts) == _MOST_PUTS or size + len(key) + len(value) > _LARGEST):
                await self._call("kv/txn", {"success": puts})
                puts, size = [], 0
            puts.append({"requestPut": {"key": _b64(key), "value": _b64(value)}})
            size += len(key) + len(value)
        if puts:
            await self._call("kv/txn", {"success": puts})

    async def get(self, key: bytes) -> bytes | None:
        reply = await self._call("kv/range", {"key": _b64(key)})
        found = reply.get("kvs", [])
        return base64.b64decode(found[0].get("value", "")) if found else None

    async def page(self, start: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """Keys from `start` on, in order, with their values."""
        body = {"key": _b64(start), "range_end": _b64(b"\0"), "limit": limit}
        reply = await self._call("kv/range", body)
        return [
            (base64.b64decode(each["key"]), base64.b64decode(each.get("value", "")))
            for each in reply.get("kvs", [])
        ]

    async def snapshot(self) -> AsyncIterator[bytes]:
        import json

        async with self._http.client.stream("POST", "maintenance/snapshot", json={}) as reply:
            async for line in reply.aiter_lines():
                if line.strip():
                    yield base64.b64decode(json.loads(line)["result"].get("blob", ""))

    async def _call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            reply = await self._http.request("POST", path, json=body)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise UnreachableError(f"etcd: {reason}", where=self.address) from error
        content: dict[str, Any] = reply.json()
        if reply.is_success:
            return content
        message = content.get("message") or content.get("error") or reply.text
        if content.get("code") == _UNAVAILABLE:
            raise NotReadyError(message, where=self.address)
        raise ConflictError(message, where=self.address)


def _member(item: dict[str, Any]) -> Member:
    return Member(
        id=int(item["ID"]),
        name=item.get("name", ""),
        peer_urls=tuple(item.get("peerURLs", ())),
        client_urls=tuple(item.get("clientURLs", ())),
        learner=bool(item.get("isLearner", False)),
    )


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
