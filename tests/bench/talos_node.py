"""A lab node in a process of its own, for the figures of the Talos client.

Prints one line of JSON when it is up (address, a throw-away client certificate, and the port of a
relay that makes the way to the node as long as a network's), and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from google.protobuf.empty_pb2 import Empty
from tests.lab_talos.harness import Lab, until

ONE_WAY = 0.01


async def relay(host: str, port: int) -> asyncio.Server:
    """Passes bytes on in order, each piece `ONE_WAY` seconds late."""

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        while piece := await reader.read(1 << 16):
            loop.call_later(ONE_WAY, writer.write, piece)
        loop.call_later(ONE_WAY, writer.close)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(host, port)
        await asyncio.gather(late(reader, far_writer), late(far_reader, writer))

    return await asyncio.start_server(serve, "127.0.0.1", 0)


async def no_tool(name: str) -> Path:
    """The node is never bootstrapped, so that it starts none."""
    return Path("/nonexistent") / name


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        lab = Lab(Path(name), no_tool)
        await lab.start("cp-1")
        await lab.configure("cp-1")
        await until(lambda: lab.api("cp-1").Version(Empty()))
        server = await relay(lab.address("cp-1"), 50000)
        pair = lab.files.client()
        facts = {
            "address": lab.address("cp-1"),
            "relay": server.sockets[0].getsockname()[1],
            "ca": lab.files.os_ca.crt.decode(),
            "certificate": pair.crt.decode(),
            "key": pair.key.decode(),
        }
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        server.close()
        await lab.close()


if __name__ == "__main__":
    asyncio.run(main())
