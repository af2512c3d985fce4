"""Logs of a node: service logs, the kernel's ring buffer, events."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.talos.answers import failure, name_of, reading
from talops.talos.wire import common_pb2, machine_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from talops.talos.calling import Caller

ALL_LINES = -1


@dataclass(frozen=True)
class SequenceChanged:
    """Talos starts or ends a sequence such as boot or upgrade; `error` when it failed."""

    sequence: str
    action: str
    error: str


@dataclass(frozen=True)
class PhaseChanged:
    phase: str
    action: str


@dataclass(frozen=True)
class TaskChanged:
    task: str
    action: str


@dataclass(frozen=True)
class ServiceChanged:
    service: str
    state: str
    message: str


@dataclass(frozen=True)
class StageChanged:
    """The stage of the machine, and what it still waits for to be ready."""

    stage: str
    ready: bool
    unmet: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class AddressesChanged:
    hostname: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class ConfigRefused:
    error: str


@dataclass(frozen=True)
class OtherChange:
    """An event this version of talops has no type for."""

    type: str


Change = (
    SequenceChanged
    | PhaseChanged
    | TaskChanged
    | ServiceChanged
    | StageChanged
    | AddressesChanged
    | ConfigRefused
    | OtherChange
)


@dataclass(frozen=True)
class NodeEvent:
    node: str
    id: str
    actor: str
    change: Change


class LogCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.machine_service

    async def logs(
        self, service: str, *, follow: bool = False, tail: int = ALL_LINES, kubernetes: bool = False
    ) -> AsyncGenerator[bytes]:
        """Pieces of a service's log as they come, or of a Kubernetes container's by its id."""
        driver = common_pb2.CRI if kubernetes else common_pb2.CONTAINERD
        request = machine_pb2.LogsRequest(
            namespace="k8s.io" if kubernetes else "system",
            id=service,
            driver=driver,
            follow=follow,
            tail_lines=tail,
        )
        async for piece in self._pieces(self._stub.Logs, request):
            yield piece

    async def dmesg(self, *, follow: bool = False, tail: bool = False) -> AsyncGenerator[bytes]:
        request = machine_pb2.DmesgRequest(follow=follow, tail=tail)
        async for piece in self._pieces(self._stub.Dmesg, request):
            yield piece

    async def events(
        self, *, tail: int = 0, since_seconds: int = 0, actor: str = ""
    ) -> AsyncGenerator[NodeEvent]:
        """Events from now on, with the last `tail` (-1: all kept) before; it never ends."""
        request = machine_pb2.EventsRequest(
            tail_events=tail, tail_seconds=since_seconds, with_actor_id=actor
        )
        async with aclosing(self._caller.stream(self._stub.Events, request)) as items:
            async for item in items:
                if error := failure(item.metadata, self._caller.where):
                    raise error
                if item.data.type_url:  # the first one is an empty hello
                    node = item.metadata.hostname or self._caller.where
                    with reading("an event", self._caller.where):
                        change = decode_change(item.data)
                    yield NodeEvent(node, item.id, item.actor_id, change)

    async def _pieces(self, method: Any, request: Any) -> AsyncGenerator[bytes]:
        async with aclosing(self._caller.stream(method, request)) as items:
            async for item in items:
                if error := failure(item.metadata, self._caller.where):
                    raise error
                if item.bytes:
                    yield item.bytes


def decode_change(data: Any) -> Change:
    """The payload of an event; its type URL is talos/runtime/machine.<Message>."""
    name = data.type_url.rpartition("/")[2]
    decode = _DECODERS.get(name)
    if decode is None:
        return OtherChange(name)
    message = getattr(machine_pb2, name.removeprefix("machine."))()
    message.ParseFromString(data.value)
    change: Change = decode(message)
    return change


def _stage(m: Any) -> StageChanged:
    stage = name_of(machine_pb2.MachineStatusEvent.MachineStage, m.stage).lower()
    unmet = tuple((c.name, c.reason) for c in m.status.unmet_conditions)
    return StageChanged(stage.replace("_", " "), m.status.ready, unmet)


def _action(m: Any) -> str:
    return name_of(type(m).Action, m.action).lower()


_DECODERS: dict[str, Any] = {
    "machine.SequenceEvent": lambda m: SequenceChanged(m.sequence, _action(m), m.error.message),
    "machine.PhaseEvent": lambda m: PhaseChanged(m.phase, _action(m)),
    "machine.TaskEvent": lambda m: TaskChanged(m.task, _action(m)),
    "machine.ServiceStateEvent": lambda m: ServiceChanged(m.service, _action(m), m.message),
    "machine.MachineStatusEvent": _stage,
    "machine.AddressEvent": lambda m: AddressesChanged(m.hostname, tuple(m.addresses)),
    "machine.ConfigLoadErrorEvent": lambda m: ConfigRefused(m.error),
    "machine.ConfigValidationErrorEvent": lambda m: ConfigRefused(m.error),
}
