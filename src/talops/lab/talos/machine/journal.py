"""The output of a node: kernel messages, service logs, events."""

from __future__ import annotations

import datetime as dt
import secrets
import time
from typing import TYPE_CHECKING

from google.protobuf.any_pb2 import Any as AnyMessage

from talops.lab.talos.event_buffer import EventBuffer
from talops.talos.wire import common_pb2, machine_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message

_LINES = 500
_EVENTS = 500
_PARTS = ("controller-runtime", "dns-resolve-cache")


class Journal:
    """Lost at power-off, as on a machine with logs in memory."""

    def __init__(self) -> None:
        self._born = time.monotonic()
        self.kernel: EventBuffer[str] = EventBuffer(_LINES)
        self.events: EventBuffer[tuple[float, machine_pb2.Event]] = EventBuffer(_EVENTS)
        # Parts of machined that are not services have logs from the start.
        self.logs: dict[str, EventBuffer[str]] = {name: EventBuffer(_LINES) for name in _PARTS}

    def kmsg(self, text: str) -> None:
        stamp = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        uptime = time.monotonic() - self._born
        self.kernel.add(f"user: warning: [{stamp}]: [{uptime:12.6f}] [talos] {text}\n")

    def log(self, service: str, text: str) -> None:
        stamp = dt.datetime.now(dt.UTC).strftime("%Y/%m/%d %H:%M:%S.%f")
        self.logs.setdefault(service, EventBuffer(_LINES)).add(f"{stamp} {text}\n")

    def event(self, payload: Message, actor: str = "") -> None:
        """Ids sort by time, because clients continue after the last one that they saw."""
        wrapped = AnyMessage(
            type_url=f"talos/runtime/{payload.DESCRIPTOR.full_name}",
            value=payload.SerializeToString(),
        )
        identifier = f"{time.time_ns():016x}{secrets.token_hex(2)}"
        event = machine_pb2.Event(data=wrapped, id=identifier, actor_id=actor)
        self.events.add((time.time(), event))

    def sequence(self, name: str, *, start: bool, error: str = "", actor: str = "") -> None:
        kind = machine_pb2.SequenceEvent
        event = kind(sequence=name, action=kind.START if start else kind.STOP)
        if error:
            event.error.CopyFrom(common_pb2.Error(code=common_pb2.FATAL, message=error))
        self.event(event, actor)
        self.kmsg(f"{name} sequence: {f'failed: {error}' if error else _verb(start=start)}")

    def task(self, name: str, *, actor: str = "") -> None:
        """`talosctl reset` and `shutdown` wait for the task stopAllServices by name."""
        kind = machine_pb2.TaskEvent
        self.event(kind(task=name, action=kind.START), actor)

    def phase(self, name: str, *, start: bool, actor: str = "") -> None:
        kind = machine_pb2.PhaseEvent
        self.event(kind(phase=name, action=kind.START if start else kind.STOP), actor)
        self.kmsg(f"phase {name}: {_verb(start=start)}")


def _verb(*, start: bool) -> str:
    return "started" if start else "done"
