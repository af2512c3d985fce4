"""Planning a large cluster without its world: 1 control plane and 500 workers, all of them larger.

The pure parts of a plan: both files checked and rendered, the order of the nodes, the judgement of
what OpenTofu would change in each VM, and the printed plan.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.bench_inventory import CLUSTER, node
from tests.bench.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS = 500
WORK = """
import resource, sys, time
from dataclasses import replace
from pathlib import Path
from talops.approval import shown
from talops.events import PlanFinished, PlannedChange, RunStarted, StagePlanned
from talops.inventory.load import load
from talops.nodeplan.machine import machine_of
from talops.nodeplan.order import plan_nodes
from talops.nodeplan.steps import World
from talops.render.tree import render
from talops.tofu.approval import items
from talops.tofu.judge import judge
from talops.tofu.plan import VM, Change, Plan
from talops.views.board import Board
from talops.views.plan import as_data, plan_text, report_of

started = time.perf_counter()
cluster = load(Path(sys.argv[1])).require()
assert render(cluster)
after = [machine_of(node) for node in cluster.nodes]
before = [m if m.controller else replace(m, memory=m.memory - 1024) for m in after]
planes = frozenset(m.name for m in after if m.controller)
order = plan_nodes(before, after, World(planes))
assert order.steps and not order.refusals

def vm(machine):
    return {
        "name": machine.name, "vm_id": machine.vm_id, "started": True,
        "tags": ["large", "controlplane" if machine.controller else "worker"],
        "cpu": [{"cores": machine.cores, "type": "host"}],
        "memory": [{"dedicated": machine.memory}],
        "network_device": [{"bridge": "vmbr0", "mac_address": machine.mac}],
        "disk": [{"interface": "scsi0", "size": machine.disk}],
    }

changes = tuple(
    Change(
        f'module.node["{old.name}"].{VM}.this', VM, ("update",), vm(old), vm(new),
        unknown=False, sensitive=(False, False),
    )
    for old, new in zip(before, after, strict=True)
    if not new.controller
)
found = items(judge(Plan(changes, False, False), {}))
board = Board()
for event in (
    RunStarted("r", "plan", "large", ("provision",)),
    PlannedChange("provision", "apply", "02", items=tuple(map(shown, found))),
    StagePlanned("provision", "changes", 1),
    PlanFinished(1, 0),
):
    board = board.after(event, 0.0)
report = report_of(board)
lines = list(plan_text(report))
assert len(lines) > 500 and len(as_data(report)["disrupted"]) == 500
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
        text = "nodes:\n" + "".join(
            node(index).replace("controller: true", f"controller: {str(index == 0).lower()}")
            for index in range(WORKERS + 1)
        )
        (directory / "nodes.yaml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", WORK, name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, kilobytes = map(float, done.stdout.split())
    yield Figure("plan: 1 + 500 nodes, all workers larger", seconds, "s", 10)
    yield Figure("plan: peak memory for 1 + 500 nodes", kilobytes / 1024, "MB", 300)
