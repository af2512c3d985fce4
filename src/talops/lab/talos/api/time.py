"""The node's clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp

from talops.lab.talos.call import Api
from talops.talos.wire import time_pb2

if TYPE_CHECKING:
    from google.protobuf.empty_pb2 import Empty


class TimeApi(Api):
    """time.TimeService."""

    SERVICE = "time.TimeService"

    async def time(self, _: Empty) -> time_pb2.Time:
        return self._compare("time.cloudflare.com")

    async def time_check(self, request: time_pb2.TimeRequest) -> time_pb2.Time:
        return self._compare(request.server)

    def _compare(self, server: str) -> time_pb2.Time:
        return time_pb2.Time(
            server=server, localtime=_stamp(self.node.now), remotetime=_stamp(time.time())
        )


def _stamp(at: float) -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(int(at * 1_000_000_000))
    return stamp
