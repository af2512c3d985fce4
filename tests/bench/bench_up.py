"""`talops up` beside what it drives: one tofu apply, one tofu plan, and the nodes' boot times.

The lab boots its nodes with lifelike times (`timing` 1). The least that a node sleeps between
nothing and Ready is the sum of the simulated times; tofu's own apply is run by hand on the same
files, in the same lab, after talops has removed its VMs.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.driven import Bench, timed, tofu_environment
from tests.bench.figure import Figure

from talops.lab.talos.machine.settings import Timing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 3


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="talops-bench-") as scratch:
        bench = Bench(Path(scratch))
        bench.site.mkdir()
        lab = str(bench.scratch / "lab")
        spec = bench.scratch / "spec.json"
        spec.write_text(json.dumps({"timing": 1.0}))
        bench.talops("lab", "start", "--dir", lab, "--spec", str(spec), "--detach")
        try:
            yield from _measure(bench, lab)
        finally:
            bench.talops("lab", "stop", "--dir", lab)


def _measure(bench: Bench, lab: str) -> Iterator[Figure]:
    details = json.loads(bench.talops("lab", "status", "--dir", lab, "-o", "json"))
    sizes = ("--control-planes", "1", "--workers", "1")
    site = str(bench.site)
    bench.talops("lab", "inventory", "--dir", lab, "-C", site, *sizes)
    bench.environment["TF_CLI_CONFIG_FILE"] = details["provider"]["cli_config"]
    first = timed(lambda: bench.talops("up", "-C", site, "--yes"))
    again = _median(lambda: bench.talops("up", "-C", site, "--yes"))

    tools = json.loads(bench.talops("tools", "list", "-o", "json"))
    tofu = next(tool["path"] for tool in tools if tool["name"] == "tofu")
    ours = bench.environment
    bench.environment = tofu_environment(bench)
    plan = _median(lambda: bench.tofu(tofu, "plan", "-input=false", "-lock=false"))
    bench.environment = ours
    bench.talops("down", "-C", site, "--yes", "--cluster", "demo")
    bench.environment = tofu_environment(bench)
    apply = timed(lambda: bench.tofu(tofu, "apply", "-input=false", "-auto-approve"))
    bench.tofu(tofu, "destroy", "-input=false", "-auto-approve")
    bench.environment = ours

    boot = _boot_seconds()
    yield Figure("up: one tofu apply by hand", apply, "s")
    yield Figure("up: simulated boots on the way to Ready", boot, "s")
    yield Figure("up: talops up against both", first / (apply + boot), "x", 1.25)
    yield Figure("up: one tofu plan by hand", plan, "s")
    yield Figure("up: a second up", again, "s", 1.5 * plan + 2)


def _boot_seconds() -> float:
    """Twice through firmware and boot: once into maintenance, once from the installed disk."""
    times = Timing()
    twice = 2 * (times.firmware + times.boot)
    return twice + times.install + times.services + times.kubelet


def _median(work: Callable[[], object]) -> float:
    return statistics.median(timed(work) for _ in range(ROUNDS))
