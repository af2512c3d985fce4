"""Many clients, few states, two servers: a recorded history that must make sense."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import lock_document
from tests.statestore.running import running
from tests.statestore.wire import LostError, Wire

from talops.redaction import Secret
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    import random

    from tests.statestore.postgres_server import PostgresServer
    from tests.statestore.wire import Answer

CLIENTS = 16
STATES = 4
DROPPED = 10
operations = pytest.mark.parametrize(
    "operations",
    [
        pytest.param(3_000, marks=pytest.mark.slow),
        pytest.param(20_000, marks=[pytest.mark.chaos, pytest.mark.timeout(3600)]),
    ],
)


@dataclass
class History:
    """What all clients together know to have happened."""

    limit: int
    operations: int = 0
    dropped: int = 0
    holders: dict[str, str] = field(default_factory=dict)
    increments: Counter[str] = field(default_factory=Counter)
    numbers: dict[str, list[int]] = field(default_factory=dict)

    def enter(self, state: str, lock_id: str) -> None:
        assert state not in self.holders, f"{lock_id} and {self.holders[state]} both hold {state}"
        self.holders[state] = lock_id

    def leave(self, state: str) -> None:
        del self.holders[state]

    @property
    def over(self) -> bool:
        return self.operations >= self.limit


@dataclass
class Client:
    """Sends every request twice, and every tenth of them once more without hearing the answer."""

    name: str
    wires: list[Wire]
    history: History
    rng: random.Random

    async def work(self) -> None:
        turn = 0
        while not self.history.over:
            turn += 1
            state = f"/history/s{self.rng.randrange(STATES)}"
            await self._increment(state, f"{self.name}-{turn}")
        for wire in self.wires:
            await wire.close()

    async def _increment(self, state: str, lock_id: str) -> None:
        lock = json.dumps(lock_document(lock_id, self.name)).encode()
        while (answer := await self._ask("LOCK", state, lock)).status == 423:
            assert answer.json()["ID"], "a refusal must name the holder"
            if self.history.over:
                return
            await asyncio.sleep(self.rng.uniform(0, 0.01))
        assert answer.status == 200, answer
        self.history.enter(state, lock_id)
        count = await self._read(state)
        body = json.dumps({"serial": count + 1, "lineage": "h", "by": lock_id}).encode()
        written = await self._ask("POST", f"{state}?ID={lock_id}", body)
        assert written.status == 200, written
        self.history.numbers.setdefault(state, []).append(int(written.headers["x-state-version"]))
        self.history.increments[state] += 1
        self.history.leave(state)
        assert (await self._ask("UNLOCK", state, lock)).status == 200

    async def _read(self, state: str) -> int:
        answer = await self._ask("GET", state)
        if self.history.increments[state] == 0:
            assert answer.status == 404
            return 0
        assert answer.status == 200, f"an empty read of {state}"
        serial: int = answer.json()["serial"]
        assert serial == self.history.increments[state], "a lost update"
        return serial

    async def _ask(self, method: str, path: str, body: bytes = b"") -> Answer:
        self.history.operations += 1
        if self.history.operations % DROPPED == 0:
            self.history.dropped += 1
            with pytest.raises(LostError):
                await self.rng.choice(self.wires).ask(method, path, body, drop=True)
        first = await self.rng.choice(self.wires).ask(method, path, body)
        again = await self.rng.choice(self.wires).ask(method, path, body)
        if first.status == 423:  # the lock may be free meanwhile, or held by another
            return again
        assert (again.status, again.body) == (first.status, first.body), (method, path)
        return first


@pytest.mark.sampled("histories of the state server")
@operations
async def test_no_lost_update_and_no_two_holders(
    postgres_server: PostgresServer, rng: random.Random, operations: int
) -> None:
    """Re-sent requests and lost answers change nothing in the outcome of a contended history."""
    store = StoreAddress(Secret(postgres_server.new_database()))
    history = History(operations)
    with running(store) as one, running(store) as two:
        clients = [
            Client(f"c{n}", [Wire(one.port), Wire(two.port)], history, rng) for n in range(CLIENTS)
        ]
        async with asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(client.work())
        wire = Wire(two.port)
        for state, count in history.increments.items():
            assert (await wire.ask("GET", state)).json()["serial"] == count
            assert history.numbers[state] == list(range(1, count + 1))
            assert (await wire.ask("GET", state + "/lock")).status == 404
        await wire.close()
    assert history.dropped >= operations // DROPPED
    assert not history.holders


@pytest.mark.sampled("histories of the state server")
@pytest.mark.slow
@pytest.mark.parametrize("store_address", ["sqlite", "s3"], indirect=True)
async def test_the_same_on_one_server(store_address: StoreAddress, rng: random.Random) -> None:
    """The stores that one server owns, or that know no transactions, keep the same promise."""
    history = History(600)
    with running(store_address) as server:
        clients = [Client(f"c{n}", [Wire(server.port)], history, rng) for n in range(8)]
        async with asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(client.work())
    assert sum(history.increments.values()) > 10
    assert not history.holders
