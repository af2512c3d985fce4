"""Records of runs as talops writes them (`pipeline.rundir`, `to_json`), with chosen times."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from talops.events import (
    ChangeFinished,
    ChangeStarted,
    Event,
    NodeStatus,
    Note,
    PlanFinished,
    PlannedChange,
    RunFinished,
    RunStarted,
    StageFinished,
    StagePlanned,
    StageStarted,
    WaitProgress,
    to_json,
)
from talops.pipeline.result import RunResult, RunStatus, StageResult, StageStatus
from talops.pipeline.rundir import RunDirectory, RunInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

STAGES = (
    "preflight",
    "configure",
    "provision",
    "apply-config",
    "bootstrap",
    "kubeconfig",
    "verify",
)
START = datetime(2026, 11, 19, 7, 0, tzinfo=UTC)
# What of a stage happens to one node.
PER_NODE = {"provision": "create", "apply-config": "update"}


def events_of(nodes: Sequence[str], until: str = "") -> Iterator[tuple[float, Event]]:
    """An `up` of these nodes; it stops inside of the stage `until`."""
    yield 0.0, RunStarted("x", "up", "demo", STAGES)
    for stage, action in PER_NODE.items():
        for node in nodes:
            items = ({"name": node, "impact": "creates", "node": node, "disruptive": False},)
            yield 0.5, PlannedChange(stage, action, f"vm {node}", "", node, "creates", items)
        yield 0.6, StagePlanned(stage, "changes", len(nodes))
    yield 1.0, PlanFinished(2 * len(nodes), 0)
    yield 1.1, Note("the image is not on every host yet", "warning", "wait, or copy it")
    at = 2.0
    for stage in STAGES:
        yield at, StageStarted(stage)
        if stage in PER_NODE:
            for number, node in enumerate(nodes):
                begin = at + 0.1 + 3.0 * (number % 10)
                yield begin, ChangeStarted(stage, PER_NODE[stage], f"vm {node}", node)
                if stage == until and number >= len(nodes) // 2:
                    reason = f"{node} does not answer: connection refused"
                    yield begin + 9, WaitProgress(stage, f"{node} to boot", reason, 8.0, node)
                    continue
                yield begin + 5, WaitProgress(stage, f"{node} to boot", "refused", 4.0, node)
                yield begin + 8, NodeStatus(node, vm="running", talos="running")
                yield begin + 8, ChangeFinished(stage, PER_NODE[stage], f"vm {node}", node, 8.0)
            at += 40.0
        else:
            at += 4.0
        if stage == until:
            return
        yield at, StageFinished(stage, "changed" if stage in PER_NODE else "unchanged", "", 4.0)
    yield at, RunFinished("x", "done", at, None, ("kubectl get nodes", "talops verify"))


def record(
    root: Path,
    name: str,
    nodes: Sequence[str],
    until: str = "",
    start: datetime = START,
    error: dict[str, str | None] | None = None,
) -> Path:
    """A finished run; with `until`, one that failed there, or has no result yet."""
    events = sorted(events_of(nodes, until), key=lambda each: each[0])
    info = RunInfo(name, "up", "demo", start.isoformat(), {"cluster.yaml": "ab" * 32}, {})
    with RunDirectory(root / ".talops" / "runs" / name, info) as directory:
        for at, event in events:
            line = to_json(event, now=start + timedelta(seconds=at))
            directory._events.write(json.dumps(line) + "\n")
        if until and error is None:
            return directory.path
        end = events[-1][0]
        reached = STAGES.index(until) if until else len(STAGES)
        stages = tuple(_result(stage, number, reached) for number, stage in enumerate(STAGES))
        status = RunStatus.FAILED if error else RunStatus.DONE
        result = {**RunResult(status, stages, end).as_dict(), "error": error}
        result["ended"] = (start + timedelta(seconds=end)).isoformat()
        text = json.dumps(result, default=asdict)
        (directory.path / "result.json").write_text(text, encoding="utf-8")
    return directory.path


def _result(stage: str, number: int, reached: int) -> StageResult:
    if number > reached:
        return StageResult(stage, StageStatus.NOT_REACHED)
    if number == reached:
        return StageResult(stage, StageStatus.FAILED, "a node did not boot", 40.0)
    done = StageStatus.CHANGED if stage in PER_NODE else StageStatus.UNCHANGED
    return StageResult(stage, done, "", 4.0)
