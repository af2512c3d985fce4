"""A run as its own process: takes the run lock, then changes states until it loses the lock.

Each write says who made it and which one it was. It writes its lock ids to no file: like a real
OpenTofu, it keeps them in memory only, also while it is stopped.
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from dataclasses import replace
from pathlib import Path

from talops.errors import ConflictError
from talops.pipeline.lease import Fence, LostLockError
from talops.pipeline.lock import Holder, shared_lock
from talops.site.run_lock import RunLock
from talops.statestore.backends.http import HttpSettings
from talops.statestore.backends.locks import HttpLocks

STATE = "layer"


class Writer(HttpLocks):
    """Reads, counts up and writes, as an apply does: under the lock of the state."""

    async def apply(self, who: str, token: str) -> None:
        address, run = self._state(STATE), f"?run={token}"
        lock_id = str(uuid.uuid4())
        held = json.dumps({"ID": lock_id, "Operation": "apply", "Who": who}).encode()
        try:
            await self._ask("LOCK", address + run, held)
        except ConflictError:
            await self._free(address, token)
            await self._ask("LOCK", address + run, held)
        try:
            found = await self.read(STATE)
            serial = json.loads(found)["serial"] if found else 0
            body = json.dumps({"serial": serial + 1, "lineage": "l", "who": who}).encode()
            await self._ask("POST", f"{address}{run}&ID={lock_id}", body)
        finally:
            await self._ask("UNLOCK", address, held)

    async def _free(self, address: str, token: str) -> None:
        """As `recover` does: a lock of a run that does not hold the run lock any more is stale."""
        answer = await self._ask("GET", f"{address}/lock", missing=True)
        found = answer.json() if answer else {}
        mine = token.partition(":")[2]
        if found.get("Run", mine) != mine:
            wish = json.dumps({"ID": found["ID"]}).encode()
            await self._ask("UNLOCK", f"{address}?run={token}", wish)


async def main(url: str, who: str, lease: float, count: int) -> int:
    """Exit codes: 0 all changes made, 5 lost the lock, 6 a request was refused."""
    locks, writer = HttpLocks(HttpSettings(url)), Writer(HttpSettings(url))
    lock = RunLock("demo", locks, print, lease)
    holder = replace(Holder.myself(who, "up", Path.cwd()), place=who)
    try:
        while True:
            try:
                await change(lock, holder, writer, count)
            except LostLockError:
                return 5
            except ConflictError as error:
                if "another run is in progress" in error.what:  # asks until the lease ends
                    await asyncio.sleep(0.02)
                    continue
                sys.stderr.write(f"{error}\n")
                return 6
            return 0
    finally:
        await writer.close()
        await locks.close()


async def change(lock: RunLock, holder: Holder, writer: Writer, count: int) -> None:
    fence = Fence()
    async with shared_lock(lock, holder, lambda _: None, fence):
        sys.stdout.write("holding\n")
        sys.stdout.flush()
        for _ in range(count):
            await fence.check()
            await writer.apply(holder.run, fence.token)


if __name__ == "__main__":
    url, who, lease, count = sys.argv[1:]
    sys.exit(asyncio.run(main(url, who, float(lease), int(count))))
