"""Clients that never trust a state server: every answer is held against what they know.

Each owner works alone on a state of its own, so it knows exactly what every read must give. It
re-sends a request until it is answered, as tofu and terraform do, whatever was killed meanwhile.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.statestore.helpers import lock_document
from tests.statestore.wire import LostError, Wire

if TYPE_CHECKING:
    from tests.statestore.wire import Answer

KB, MB = 1024, 1024 * 1024
FILLER = base64.b64encode(random.Random(7).randbytes(8 * MB)).decode()
PATIENCE = 60.0


def body_of(serial: int, size: int, start: int) -> bytes:
    """A state that can tell whether it is whole."""
    filler = FILLER[start : start + size]
    digest = hashlib.md5(filler.encode()).hexdigest()
    document = {"version": 4, "serial": serial, "lineage": "soak", "md5": digest, "filler": filler}
    return json.dumps(document).encode()


def assert_whole(body: bytes) -> None:
    document = json.loads(body)
    assert hashlib.md5(document["filler"].encode()).hexdigest() == document["md5"]


@dataclass
class Owner:
    state: str
    ports: list[int]
    rng: random.Random
    sizes: tuple[int, int] = (10 * KB, 10 * MB)
    acknowledged: bytes | None = None
    serial: int = 0
    writes: int = 0
    resent: int = 0
    _wires: dict[int, Wire] = field(default_factory=dict)

    async def work(self, stop: asyncio.Event) -> None:
        try:
            while not stop.is_set():
                await self._cycle()
        finally:
            for wire in self._wires.values():
                await wire.close()

    async def _cycle(self) -> None:
        lock_id = f"{self.state}-{self.rng.getrandbits(64):x}"
        lock = json.dumps(lock_document(lock_id)).encode()
        assert (await self._ask("LOCK", "", lock)).status == 200
        await self._expect_known()
        for _ in range(self.rng.randint(1, 3)):
            await self._write(lock_id)
            await self._expect_refused(lock_id)
        assert (await self._ask("UNLOCK", "", lock)).status == 200

    async def _write(self, lock_id: str) -> None:
        self.serial += 1
        low, high = self.sizes
        # Even in the logarithm: as many small states as large ones.
        size = int(low * (high / low) ** self.rng.random())
        body = body_of(self.serial, size, self.rng.randrange(64 * KB))
        answer = await self._ask("POST", f"?ID={lock_id}", body)
        assert answer.status == 200, answer.body
        self.acknowledged = body
        self.writes += 1
        await self._expect_known()

    async def _expect_known(self) -> None:
        answer = await self._ask("GET", "")
        if self.acknowledged is None:
            assert answer.status == 404
        else:
            assert answer.status == 200
            assert answer.body == self.acknowledged

    async def _expect_refused(self, lock_id: str) -> None:
        """The lock is still held, and known to be ours."""
        answer = await self._ask("LOCK", "", json.dumps(lock_document("rival")).encode())
        assert answer.status == 423
        assert answer.json()["ID"] == lock_id

    async def _ask(self, method: str, query: str, body: bytes = b"") -> Answer:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            port = self.rng.choice(self.ports)
            wire = self._wires.setdefault(port, Wire(port))
            try:
                answer = await wire.ask(method, f"/soak/{self.state}{query}", body)
                if answer.status != 503:
                    return answer
            except LostError:
                pass
            self.resent += 1
            assert asyncio.get_running_loop().time() < deadline, f"{method}: no answer any more"
            await asyncio.sleep(0.02)


async def watch(states: list[str], ports: list[int], stop: asyncio.Event) -> int:
    """Read everything all the time; whatever comes back must be whole. The count of reads."""
    seen: set[str] = set()
    count = 0
    wires = [Wire(port) for port in ports]
    while not stop.is_set():
        for state in states:
            wire = wires[count % len(wires)]
            try:
                answer = await wire.ask("GET", f"/soak/{state}")
            except LostError:
                await asyncio.sleep(0.02)
                continue
            if answer.status == 200:
                assert_whole(answer.body)
                seen.add(state)
                count += 1
            else:
                assert answer.status == 503 or state not in seen, f"{state} vanished"
        await asyncio.sleep(0)
    for wire in wires:
        await wire.close()
    return count
