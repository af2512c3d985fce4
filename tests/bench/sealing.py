"""What `talops backup create` does with a snapshot, here from stdin; prints times and memory."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

# The modules that the command itself has loaded by then.
import talops.app.verifying
import talops.cli.backup.commands
import talops.site.connections  # noqa: F401
from talops.backups import taking
from talops.secrets.age import AgeKey, KeyRing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PIECE = 64 * 1024


async def _pieces() -> AsyncGenerator[bytes]:
    while piece := sys.stdin.buffer.read(PIECE):
        yield piece


def main(target: str, recipient: str) -> None:
    with Path(target).open("w+b") as file:
        started = time.perf_counter()
        asyncio.run(taking._sealed(_pieces(), file, (recipient,), "bench"))
        sealed = time.perf_counter()
        keys = KeyRing((AgeKey.parse(os.environ["KEY"]),))
        contents = taking._counted(file, keys, "bench")
        proven = time.perf_counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    found = {"sealed": sealed - started, "proven": proven - sealed, "objects": contents.keys}
    print(json.dumps({**found, "memory": memory}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
