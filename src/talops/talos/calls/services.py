"""What runs on a node: its version and name, its services."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from google.protobuf.empty_pb2 import Empty

from talops.talos.answers import moment
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from talops.talos.calling import Caller

_RELEASE = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
# Go's zero time: what Talos sends for an event that has not happened.
NEVER = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Version:
    tag: str
    sha: str
    built: str
    go_version: str
    os: str
    arch: str
    platform: str
    mode: str
    rbac: bool

    @property
    def release(self) -> tuple[int, int]:
        """(1, 13) of v1.13.9; (0, 0) when the tag is not a version."""
        major, _, rest = self.tag.removeprefix("v").partition(".")
        minor = rest.partition(".")[0]
        found = _RELEASE.fullmatch(f"{major}.{minor}")
        return (int(major), int(minor)) if found else (0, 0)


@dataclass(frozen=True)
class ServiceEvent:
    message: str
    state: str
    time: datetime | None


@dataclass(frozen=True)
class Service:
    """`healthy` is None where the service has no health check."""

    id: str
    state: str
    healthy: bool | None
    message: str
    changed: datetime | None
    events: tuple[ServiceEvent, ...]


class ServiceCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.machine_service

    async def version(self) -> Version:
        return decode_version(await self._caller.one(self._stub.Version, Empty(), safe=True))

    async def hostname(self) -> str:
        got = await self._caller.one(self._stub.Hostname, Empty(), safe=True)
        return str(got.hostname)

    async def list(self) -> list[Service]:
        got = await self._caller.one(self._stub.ServiceList, Empty(), safe=True)
        return [_service(info) for info in got.services]

    async def start(self, name: str) -> str:
        got = await self._caller.one(self._stub.ServiceStart, pb.ServiceStartRequest(id=name))
        return str(got.resp)

    async def stop(self, name: str) -> str:
        got = await self._caller.one(self._stub.ServiceStop, pb.ServiceStopRequest(id=name))
        return str(got.resp)

    async def restart(self, name: str) -> str:
        got = await self._caller.one(self._stub.ServiceRestart, pb.ServiceRestartRequest(id=name))
        return str(got.resp)


def decode_version(got: Any) -> Version:
    v = got.version
    return Version(
        v.tag, v.sha, v.built, v.go_version, v.os, v.arch,
        platform=got.platform.name, mode=got.platform.mode, rbac=got.features.rbac,
    )  # fmt: skip


def _service(info: Any) -> Service:
    return Service(
        id=info.id,
        state=info.state,
        healthy=None if info.health.unknown else info.health.healthy,
        message=info.health.last_message,
        changed=_time(info.health, "last_change"),
        events=tuple(
            ServiceEvent(event.msg, event.state, _time(event, "ts")) for event in info.events.events
        ),
    )


def _time(message: Any, name: str) -> datetime | None:
    if not message.HasField(name):
        return None
    stamp = moment(getattr(message, name))
    return None if stamp == NEVER else stamp
