"""The page of five clusters with 200 nodes each, of which the first one has a run in progress.

Prints its address; for each line on stdin, the CPU seconds and the memory that it used so far.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.bench_inventory import CLUSTER, node
from tests.web.recorded import record
from tests.web.scripted import Script, broken

from talops.inventory.load import load
from talops.pipeline.lock import Holder, local_lock
from talops.web.serving.server import Settings, serve

NODES, CLUSTERS, EVENTS_PER_SECOND = 200, 5, 10
LIVE, DONE = "20261119-09-up-c", "20261119-07-up-a"


def main(scratch: Path) -> None:
    scripts = []
    for number in range(CLUSTERS):
        root = scratch / f"large-{number}"
        root.mkdir()
        text = CLUSTER.replace("cluster_name: large", f"cluster_name: {root.name}")
        (root / "cluster.yaml").write_text(text, encoding="utf-8")
        nodes = "".join(node(index) for index in range(NODES))
        (root / "nodes.yaml").write_text(f"nodes:\n{nodes}", encoding="utf-8")
        cluster = load(root).require()
        record(root, DONE, cluster.node_names)
        scripts.append(Script(cluster, root, broken(cluster, datetime.now(UTC))))
    live = scripts[0].root
    record(live, LIVE, scripts[0].cluster.node_names, "provision")
    with local_lock(live / ".talops" / "lock", Holder.myself(LIVE, "up", live)):
        asyncio.run(_served(scripts, live / ".talops" / "runs" / LIVE / "events.jsonl"))


async def _served(scripts: list[Script], events: Path) -> None:
    sites = {script.cluster.name: script.site() for script in scripts}
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), _answer)
    going = asyncio.create_task(_go_on(events))

    def ready(address: str) -> None:
        os.write(1, f"{address}\n".encode())

    await serve(Settings("127.0.0.1", 0), sites, ready, lambda _: None)
    going.cancel()


def _answer() -> None:
    if not os.read(0, 64):
        os._exit(0)
    used = resource.getrusage(resource.RUSAGE_SELF)
    os.write(1, f"{used.ru_utime + used.ru_stime} {used.ru_maxrss}\n".encode())


async def _go_on(events: Path) -> None:
    """A run that reports several times per second."""
    number = 0
    while True:
        await asyncio.sleep(1 / EVENTS_PER_SECOND)
        number += 1
        event = {
            "schema": 1,
            "time": datetime.now(UTC).isoformat(),
            "kind": "wait_progress",
            "stage": "provision",
            "name": "boot",
            "node": f"node-{number % NODES}",
            "reason": f"refused {number}",
            "seconds": number,
        }
        with events.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
