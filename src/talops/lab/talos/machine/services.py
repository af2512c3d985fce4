"""The services of a node, with the states and health that `talosctl services` shows."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp

from talops.talos.wire import machine_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.talos.machine.journal import Journal

MAINTENANCE = ("apid", "auditd", "containerd", "machined", "syslogd", "udevd")
ALWAYS = ("apid", "auditd", "containerd", "cri", "kubelet", "machined", "syslogd", "udevd")
CONTROL_PLANE = ("etcd", "trustd")
_EVENTS = 10


@dataclass
class Service:
    """`healthy` is None where Talos has no health check yet."""

    id: str
    state: str = "Initialized"
    healthy: bool | None = None
    message: str = ""
    changed: float = field(default_factory=time.time)
    events: list[tuple[float, str, str]] = field(default_factory=list)

    @property
    def pid(self) -> int:
        """In a stable order; machined is the first."""
        return 1 if self.id == "machined" else 100 + zlib.crc32(self.id.encode()) % 4000

    def info(self) -> machine_pb2.ServiceInfo:
        events = [
            machine_pb2.ServiceEvent(msg=message, state=state, ts=_stamp(at))
            for at, state, message in self.events
        ]
        return machine_pb2.ServiceInfo(
            id=self.id,
            state=self.state,
            events=machine_pb2.ServiceEvents(events=events),
            health=self.health(),
        )

    def health(self) -> machine_pb2.ServiceHealth:
        return machine_pb2.ServiceHealth(
            unknown=self.healthy is None,
            healthy=bool(self.healthy),
            last_message=self.message,
            last_change=_stamp(self.changed),
        )


class ServiceBoard:
    """Reports each change to the journal and the listeners."""

    def __init__(self, journal: Journal, changed: Callable[[], None]) -> None:
        self._journal = journal
        self._changed = changed
        self._services: dict[str, Service] = {}

    def all(self) -> list[Service]:
        return [self._services[name] for name in sorted(self._services)]

    def get(self, name: str) -> Service | None:
        return self._services.get(name)

    def running(self, name: str) -> bool:
        service = self._services.get(name)
        return service is not None and service.state == "Running"

    def set(self, name: str, state: str, message: str = "", *, healthy: bool | None = None) -> None:
        service = self._services.setdefault(name, Service(name))
        if (service.state, service.healthy) == (state, healthy) and service.events:
            return
        service.state, service.healthy, service.changed = state, healthy, time.time()
        text = message or _default_message(state, healthy=healthy)
        service.message = "" if healthy else text
        service.events = [*service.events, (service.changed, state, text)][-_EVENTS:]
        kind = machine_pb2.ServiceStateEvent
        action = getattr(kind, state.upper(), kind.INITIALIZED)
        self._journal.event(
            kind(service=name, action=action, message=text, health=service.health())
        )
        self._journal.log("machined", f"service[{name}]({state}): {text}")
        self._changed()

    def run(self, *names: str) -> None:
        for name in names:
            self.set(name, "Running", healthy=True)


def _default_message(state: str, *, healthy: bool | None) -> str:
    if state == "Running" and healthy:
        return "Health check successful"
    return {"Running": "Started task", "Preparing": "Running pre state"}.get(state, state)


def _stamp(at: float) -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(int(at * 1_000_000_000))
    return stamp
