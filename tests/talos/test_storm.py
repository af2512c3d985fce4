"""A connection that keeps breaking: every failure is one of ours, and nothing hangs."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.talos.conftest import data

from talops.talos.errors import NodeDownError, OutcomeUnknownError
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from tests.talos.conftest import FakeNode

    from talops.talos.client import Talos

VERSION = pb.VersionResponse(messages=[pb.Version(version=pb.VersionInfo(tag="v1.13.9"))])
REBOOT = pb.RebootResponse(messages=[pb.Reboot(actor_id="a")])


def breaking(rng: random.Random, reply: Any) -> Callable[[Any, Any], Awaitable[Any]]:
    """Answers, or cuts the connection before or after a moment, or resets the call alone."""

    async def answer(_: Any, stream: Any) -> Any:
        fate = rng.random()
        if fate < 0.1:
            stream._stream._transport.abort()
        elif fate < 0.2:
            await asyncio.sleep(rng.random() / 100)
            stream._stream._transport.abort()
        elif fate < 0.25:
            stream._stream.reset_nowait()
        return reply

    return answer


async def call(talos: Talos, choice: float) -> str:
    try:
        if choice < 0.5:
            await talos.version()
        elif choice < 0.75:
            await talos.machine.reboot()
        else:
            assert [piece async for piece in talos.logs.logs("etcd")] == [b"a", b"b"]
    except NodeDownError:
        return "down"
    except OutcomeUnknownError:
        return "unknown"
    return "answered"


async def test_storm(talos: Talos, node: FakeNode, rng: random.Random) -> None:
    """Calls in flight end as answered, down, or with an unknown outcome; then all is well again."""
    node.on("Version", breaking(rng, VERSION))
    node.on("Reboot", breaking(rng, REBOOT))
    node.on("Logs", breaking(rng, data(b"a", b"b")))
    ends: Counter[str] = Counter()

    async def worker() -> None:
        for _ in range(20):
            ends[await call(talos, rng.random())] += 1

    await asyncio.gather(*(worker() for _ in range(10)))
    assert sum(ends.values()) == 200
    assert ends["answered"] > 0
    node.on("Version", VERSION)
    assert (await talos.version()).tag == "v1.13.9"
