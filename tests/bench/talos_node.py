"""A lab node in a process of its own, for the figures of the Talos client.

Prints one line of JSON when it is up (address and a throw-away client certificate), and ends with
its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from tests.lab.talos.harness import Lab


async def no_tool(name: str) -> Path:
    """The node is never bootstrapped, so that it starts none."""
    return Path("/nonexistent") / name


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        lab = Lab(Path(name), no_tool)
        await lab.start("cp-1")
        await lab.configure("cp-1")
        await lab.up("cp-1")
        pair = lab.files.client()
        facts = {
            "address": lab.address("cp-1"),
            "ca": lab.files.os_ca.crt.decode(),
            "certificate": pair.crt.decode(),
            "key": pair.key.decode(),
        }
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        await lab.close()


if __name__ == "__main__":
    asyncio.run(main())
