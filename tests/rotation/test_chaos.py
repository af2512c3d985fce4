"""Both rotations on three control planes and three workers: clients that call all the time, and
`kill -9` at every event with an `up` of someone else in between.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.rotation.clients import Clients
from tests.rotation.conftest import BOTH, refuses_the_old
from tests.rotation.killing import foreign_up, killed_at, whole

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

    from tests.rotation.conftest import Rotating

    from talops.events import Event

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Rotating]]

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(7200)]
# `STEP=4` kills at every fourth event only.
STEP = int(os.environ.get("STEP", "1"))
SIX = ("cp-1", "cp-2", "cp-3", "w-1", "w-2", "w-3")


async def test_no_call_fails_outside_of_listed_restarts(rotating: Start) -> None:
    """The Talos API of every node always answers; an API server is away only in its own turn."""
    async with rotating(*SIX) as cluster:
        before, clients = cluster.bundle, Clients(cluster)

        def emit(event: Event) -> None:
            clients.follow(event)
            cluster.lab.events.append(event)

        async with clients.calling():
            done = await cluster.rotate(*BOTH, emit=emit)
        assert done.error is None, done.error
        print(f"{clients.calls} calls, {len(clients.failures)} failed in listed restarts")  # noqa: T201
        assert clients.calls > 100
        unlisted = [
            failure
            for failure in clients.failures
            if failure.api == "talos" or failure.node not in failure.during
        ]
        assert unlisted == []
        await refuses_the_old(cluster, before)


async def test_killed_at_every_event_with_an_up_in_between(rotating: Start) -> None:
    """It always finishes, the old CAs are refused, and secrets and nodes agree."""
    async with rotating(*SIX) as cluster:
        before, number, kills = cluster.bundle, 0, 0
        while True:
            number += STEP
            seen = await killed_at(cluster, number, "rotate", "all")
            if any(event["kind"] == "run_finished" for event in seen):
                break
            kills, last = kills + 1, seen[-1]
            place = [last.get(key) for key in ("kind", "action", "target", "detail", "node")]
            print(f"killed at event {number}: {place}", flush=True)  # noqa: T201  (it takes long)
            await foreign_up(cluster)
        print(f"killed {kills} times")  # noqa: T201
        await refuses_the_old(cluster, before)
        await whole(cluster, "up", "--from", "apply-config", "--until", "kubeconfig")
