"""Logs, kernel messages and events, with tail and follow."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from google.protobuf.any_pb2 import Any as AnyMessage
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.lab.talos import pods
from talops.lab.talos.call import Api
from talops.lab.talos.event_buffer import EventBuffer
from talops.talos.wire import common_pb2, machine_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.empty_pb2 import Empty

_LINES = 500


class LogsApi(Api):
    """machine.MachineService: Logs, LogsContainers, Dmesg, Events."""

    SERVICE = "machine.MachineService"

    async def logs(self, request: machine_pb2.LogsRequest) -> AsyncIterator[common_pb2.Data]:
        journal, service = self.node.journal, request.id
        if request.namespace == pods.KUBERNETES and service != "kubelet":
            for written in self._of_container(service, request.tail_lines):
                yield common_pb2.Data(bytes=written)
            return
        if service not in journal.logs and self.node.services.get(service) is None:
            raise GRPCError(Status.UNKNOWN, f'log "{service}" was not registered')
        for written in self._of_program(service, request.tail_lines):
            yield common_pb2.Data(bytes=written)
        buffer = journal.logs.setdefault(service, EventBuffer(_LINES))
        if request.follow:
            async for line in buffer.follow(request.tail_lines):
                yield common_pb2.Data(bytes=line.encode())
        else:
            for line in buffer.items(request.tail_lines):
                yield common_pb2.Data(bytes=line.encode())

    def _of_container(self, wanted: str, tail: int) -> list[bytes]:
        """A static pod's, with or without its number; the lab runs no program for most of them."""
        for container in pods.containers(self.node):
            if wanted in {container.id, container.id.rpartition(":")[0]}:
                return self._of_program(container.name, tail)
        raise GRPCError(Status.UNKNOWN, f'container "{wanted}" not found')

    def _of_program(self, service: str, tail: int) -> list[bytes]:
        """The output of a real program; its newest lines are enough."""
        store = self.node.store
        files = {
            "etcd": store.etcd / "etcd.log",
            "kube-apiserver": store.kubernetes / "kube-apiserver.log",
        }
        file = files.get(service)
        if file is None or not file.exists():
            return []
        lines = file.read_bytes().splitlines(keepends=True)
        return lines[-(tail if 0 < tail < _LINES else _LINES) :]

    async def logs_containers(self, _: Empty) -> machine_pb2.LogsContainer:
        return machine_pb2.LogsContainer(ids=sorted(self.node.journal.logs))

    async def dmesg(self, request: machine_pb2.DmesgRequest) -> AsyncIterator[common_pb2.Data]:
        kernel = self.node.journal.kernel
        if not request.follow:
            for line in kernel.items():
                yield common_pb2.Data(bytes=line.encode())
            return
        async for line in kernel.follow(0 if request.tail else None):
            yield common_pb2.Data(bytes=line.encode())

    async def events(self, request: machine_pb2.EventsRequest) -> AsyncIterator[machine_pb2.Event]:
        yield machine_pb2.Event(data=AnyMessage(), actor_id=request.with_actor_id)
        buffer = self.node.journal.events
        past = _tail(buffer.items(), request)
        async for _, event in buffer.follow(past):
            if not request.with_actor_id or event.actor_id == request.with_actor_id:
                yield event


def _tail(items: list[tuple[float, machine_pb2.Event]], request: machine_pb2.EventsRequest) -> int:
    """The number of past events in the request."""
    if request.tail_id:
        return sum(1 for _, event in items if event.id > request.tail_id)
    if request.tail_seconds:
        since = time.time() - request.tail_seconds
        return sum(1 for at, _ in items if at >= since)
    return len(items) if request.tail_events < 0 else request.tail_events
