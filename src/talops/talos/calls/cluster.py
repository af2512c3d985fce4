"""Calls that one node answers about its environment: cluster health, time servers."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from google.protobuf.duration_pb2 import Duration

from talops.talos.answers import failure, moment
from talops.talos.wire import cluster_pb2, time_pb2
from talops.talos.wire.cluster_grpc import ClusterServiceStub
from talops.talos.wire.time_grpc import TimeServiceStub

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import datetime

    from talops.talos.calling import Caller

# The node ends the check itself; the margin for its answer.
GRACE = 30.0


@dataclass(frozen=True)
class Clock:
    """The node's clock beside that of a time server."""

    server: str
    local: datetime
    remote: datetime

    @property
    def offset(self) -> timedelta:
        return self.local - self.remote


class ClusterCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._cluster = ClusterServiceStub(caller.link)
        self._time = TimeServiceStub(caller.link)

    async def health(
        self,
        control_planes: tuple[str, ...] = (),
        workers: tuple[str, ...] = (),
        *,
        wait: timedelta = timedelta(minutes=5),
        endpoint: str = "",
    ) -> AsyncGenerator[str]:
        """What the control plane is checking, line by line; raises if a check keeps failing.

        Without names the node takes the members it discovered.
        """
        duration = Duration()
        duration.FromTimedelta(wait)
        request = cluster_pb2.HealthCheckRequest(
            wait_timeout=duration,
            cluster_info=cluster_pb2.ClusterInfo(
                control_plane_nodes=control_planes, worker_nodes=workers, force_endpoint=endpoint
            ),
        )
        timeout = wait.total_seconds() + GRACE
        items = self._caller.stream(self._cluster.HealthCheck, request, timeout=timeout)
        async with aclosing(items):
            async for item in items:
                if error := failure(item.metadata, self._caller.where):
                    raise error
                yield item.message

    async def clock(self, server: str = "") -> Clock:
        """Compare with `server`, or with the node's own first time server."""
        request = time_pb2.TimeRequest(server=server)
        got = await self._caller.one(self._time.TimeCheck, request, safe=True)
        return Clock(
            server=got.server,
            local=moment(got.localtime),
            remote=moment(got.remotetime),
        )
