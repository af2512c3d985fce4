"""A Talos node in a process of its own that sends a file as its snapshot of etcd.

Prints one line of JSON when it is up, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import mmap
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.talos.conftest import Authority, FakeNode, server_context, serving

from talops.talos.wire import common_pb2

PIECE = 32 * 1024  # as Talos sends


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


async def main(path: str) -> None:
    authority, node, content = Authority(), FakeNode(), _mapped(Path(path))
    with tempfile.TemporaryDirectory() as name:

        async def send(_: Any, stream: Any) -> None:
            for start in range(0, len(content), PIECE):
                await stream.send_message(common_pb2.Data(bytes=content[start : start + PIECE]))

        node.on("EtcdSnapshot", send)
        context = server_context(authority.server(), authority.certificate, Path(name))
        async with serving(node, context):
            client = authority.client()
            facts = {
                "port": node.port,
                "ca": authority.certificate,
                "certificate": client.certificate,
                "key": client.key,
            }
            sys.stdout.write(json.dumps(facts) + "\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
