"""Large inventories, and the start of the command."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

CLUSTER = """\
cluster_name: large
talos_version: v1.13.9
kubernetes_version: v1.36.3
node_cidr: 10.0.0.0/16
cluster_pod_cidr: 10.128.0.0/12
cluster_svc_cidr: 10.200.0.0/16
cluster_api_addr: 10.0.0.10
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
"""
WORK = """
import resource, sys, time
from pathlib import Path
from talops.inventory.load import load
from talops.render.tree import render
started = time.perf_counter()
files = render(load(Path(sys.argv[1])).require())
assert files
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def node(index: int) -> str:
    high, low = divmod(index + 20, 256)
    return (
        f"  - name: node-{index}\n    address: 10.0.{high}.{low}\n"
        f"    controller: {'true' if index < 3 else 'false'}\n    vm_id: {1000 + index}\n"
        f"    mac_addr: bc:24:11:00:{high:02x}:{low:02x}\n    mtu: 1500\n"
        f"    vm_memory: 16384\n    labels: {{zone: z{index % 7}}}\n"
    )


def measure(count: int, directory: Path) -> tuple[float, float]:
    """Seconds and MB of one fresh process that checks and renders `count` nodes."""
    (directory / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    text = "nodes:\n" + "".join(node(index) for index in range(count))
    (directory / "nodes.yaml").write_text(text, encoding="utf-8")
    rows = [
        subprocess.run(
            [sys.executable, "-c", WORK, str(directory)], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(3)
    ]
    return min(float(row[0]) for row in rows), max(float(row[1]) for row in rows) / 1024


def start_time(command: list[str]) -> float:
    times = []
    for _ in range(15):
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        small, _ = measure(100, Path(name))
        large, memory = measure(1000, Path(name))
    yield Figure("1,000 nodes checked and rendered", large, "s", 3)
    yield Figure("growth from 100 to 1,000 nodes", large / small, "x", 12)
    yield Figure("peak memory for 1,000 nodes", memory, "MB", 300)
    talops = str(Path(sys.executable).parent / "talops")
    bare = start_time([sys.executable, "-c", "pass"])
    version = start_time([talops, "--version"])
    yield Figure("talops --version against python -c pass", version / bare, "x", 5)
