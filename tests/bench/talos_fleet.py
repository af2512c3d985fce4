"""Many lab nodes in a process of their own, waiting in maintenance mode, for the figures of `up`.

Argument: how many. Prints one line of JSON when all of them answer (the directory with an inventory
for them), and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.talos_node import no_tool
from tests.lab.talos.site import NodeSite

from talops.lab.talos.machine.settings import Timing
from talops.machineconfig.secrets import bundle as bundles

SCALE = 0.2  # of the time that boot and installation take on modest hardware


async def main(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="talops-bench-") as name:
        made = bundles.generate(datetime.now(UTC))
        site = NodeSite(Path(name), no_tool, made, timing=Timing(scale=SCALE))
        await site.start("cp-1", *(f"w-{number}" for number in range(1, count)))
        for machine in site.lab.machines:
            await site.lab.listening(machine)
        sys.stdout.write(json.dumps({"root": str(site.root)}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        await site.lab.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
