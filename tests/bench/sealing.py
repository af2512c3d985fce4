"""What `talops backup create` does with a snapshot, from stdin or from a Talos node (`NODE`: how
to reach it, JSON); prints times and memory.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import IO, TYPE_CHECKING

# The modules that the command itself has loaded by then.
import talops.app.verifying
import talops.cli.backup.commands
import talops.site.connections  # noqa: F401
from talops.backups.making.reading_back import read_back
from talops.backups.making.sealing import seal
from talops.backups.making.taking import PATIENCE
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing
from talops.talos.client import Talos
from talops.talos.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PIECE = 64 * 1024


async def _piped() -> AsyncGenerator[bytes]:
    while piece := sys.stdin.buffer.read(PIECE):
        yield piece


async def _sent(node: dict[str, str]) -> AsyncGenerator[bytes]:
    access = Credentials(node["ca"], node["certificate"], Secret(node["key"]))
    async with (
        Talos.connect("127.0.0.1", access, port=int(node["port"])) as talos,
        aclosing(talos.etcd.snapshot_pieces(patience=PATIENCE)) as pieces,
    ):
        async for piece in pieces:
            yield piece


async def _seal(file: IO[bytes], recipient: str) -> None:
    node = json.loads(os.environ.get("NODE", "null"))
    await seal(_sent(node) if node else _piped(), file, (recipient,), "bench")


def main(target: str, recipient: str) -> None:
    with Path(target).open("w+b") as file:
        started = time.perf_counter()
        asyncio.run(_seal(file, recipient))
        sealed = time.perf_counter()
        keys = KeyRing((AgeKey.parse(os.environ["KEY"]),))
        contents = read_back(file, keys, "bench").contents
        proven = time.perf_counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    found = {"sealed": sealed - started, "proven": proven - sealed, "objects": contents.keys}
    print(json.dumps({**found, "memory": memory}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
