"""The way to a node, made as long as a network's: bytes are passed on in order, each piece late.

Arguments: the node's address and the seconds of one direction. Prints one line of JSON when it is
up, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys


async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    while piece := await reader.read(1 << 16):
        loop.call_later(seconds, writer.write, piece)
    loop.call_later(seconds, writer.close)


async def main(address: str, seconds: float) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(address, 50000)
        with contextlib.suppress(asyncio.CancelledError):  # the bench is over
            await asyncio.gather(
                late(reader, far_writer, seconds), late(far_reader, writer, seconds)
            )

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
