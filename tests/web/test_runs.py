"""The view of a run: live, failed and compared; 200 nodes; and records that were tampered with."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.web.recorded import STAGES, START, record
from tests.web.scripted import Script, healthy, visiting

from talops.pipeline.history import find_run, read_events
from talops.pipeline.lock import Holder, local_lock
from talops.views.report import report_html
from talops.views.runview import run_view

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.views.runview import RunView

NODES = ("cp-1", "w-1")
ERROR: dict[str, str | None] = {
    "what": "w-1 did not boot",
    "where": "w-1",
    "hint": "talops talos dmesg",
}
DONE, FAILED, LIVE = "20261119-07-up-a", "20261119-08-up-b", "20261119-09-up-c"


def script(example: Example, root: Path) -> Script:
    cluster = example("ha")
    return Script(cluster, root, healthy(cluster, datetime.now(UTC)))


def seen(root: Path, name: str, after: float | None = None) -> RunView:
    run = find_run(root / ".talops", name)
    now = None if after is None else START.timestamp() + after
    return run_view(run, list(read_events(run)), now)


def test_a_finished_run_has_a_bar_for_each_stage_and_each_node(tmp_path: Path) -> None:
    """In percent of the run, in the order in which they began."""
    record(tmp_path, DONE, NODES)
    view = seen(tmp_path, DONE)
    bars = [stage.bar for stage in view.stages]
    assert [stage.name for stage in view.stages] == list(STAGES)
    assert all(bars)
    lefts = [bar.left for bar in bars if bar]
    assert lefts == sorted(lefts)
    assert not any(bar.left < 0 or bar.left + bar.width > 100.01 for bar in bars if bar)
    assert [lane.node for lane in view.lanes] == list(NODES)
    assert {bar.tone for lane in view.lanes for bar in lane.bars} == {"good", "wait"}
    assert [line.what for line in view.plan][:2] == ["create vm cp-1", "create vm w-1"]


def test_a_failed_run_says_where_it_stopped(tmp_path: Path) -> None:
    """Stages that were not reached have no bar, and are neither good nor bad."""
    record(tmp_path, FAILED, NODES, "apply-config", error=ERROR)
    view = seen(tmp_path, FAILED)
    states = {stage.name: (stage.tone, stage.bar is not None) for stage in view.stages}
    assert states["provision"] == ("good", True)
    assert states["apply-config"] == ("bad", True)
    assert {states["bootstrap"], states["verify"]} == {("soft", False)}
    tones = {bar.tone for lane in view.lanes if lane.node == "w-1" for bar in lane.bars}
    assert "bad" in tones, "what was begun and not finished is shown as that"
    assert "busy" not in tones


def test_a_run_in_progress_grows(tmp_path: Path) -> None:
    """Its axis ends now; a wait that is current comes first, with its last reason."""
    record(tmp_path, LIVE, NODES, "provision")
    with local_lock(tmp_path / ".talops" / "lock", Holder.myself(LIVE, "up", tmp_path)):
        first, later = seen(tmp_path, LIVE, 22.0), seen(tmp_path, LIVE, 100.0)
    assert (first.status, first.live, first.tone) == ("running", True, "busy")
    running = {view.took: view.stages[2].bar for view in (first, later)}
    assert list(running) == ["22s", "1m40s"]
    assert all(bar and bar.left + bar.width > 99.9 for bar in running.values())
    assert [stage.status for stage in first.stages][2:4] == ["running", "pending"]
    wait = first.waits[0]
    assert (wait.current, wait.node) == (True, "w-1")
    assert wait.reason == "w-1 does not answer: connection refused"
    assert not any(wait.current for wait in later.waits), "it has not reported for long"
    assert seen(tmp_path, LIVE).status == "killed", "without its lock it is not running"


async def test_pages_of_runs(example: Example, tmp_path: Path) -> None:
    """History with results, one run, and two compared; no page has another address in it."""
    record(tmp_path, DONE, NODES)
    record(tmp_path, FAILED, NODES, "apply-config", error=ERROR)
    record(tmp_path, LIVE, NODES, "provision")
    async with visiting(script(example, tmp_path)) as client:
        runs = (await client.get("/api/v1/sites/ha/runs")).json()["runs"]
        assert {run["id"]: run["tone"] for run in runs} == {
            DONE: "good",
            FAILED: "bad",
            LIVE: "bad",
        }
        page = (await client.get("/c/ha/runs")).text
        assert f'/c/ha/run?run={FAILED}"' in page
        one = (await client.get(f"/c/ha/run?run={FAILED}")).text
        for text in ("w-1 did not boot", "apply-config", "not reached", "talops talos dmesg"):
            assert text in one
        query = f"before={DONE}&after={FAILED}"
        both = (await client.get(f"/c/ha/comparison?{query}")).text
        assert "stage apply-config" in both
        found = (await client.get(f"/api/v1/sites/ha/comparison?{query}")).json()
        assert found["comparison"]["before"] == DONE
        assert (await client.get("/c/ha/comparison")).status_code == 400


def test_the_report_of_a_large_run_is_small(tmp_path: Path) -> None:
    """200 nodes: under a megabyte, in one file without scripts and without foreign addresses."""
    record(tmp_path, DONE, [f"node-{number}" for number in range(200)])
    page = report_html(find_run(tmp_path / ".talops", DONE))
    assert len(page.encode()) < 1_000_000
    assert "<script" not in page
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert page.count('class="row"') > 200


def test_damaged_records_are_shown_as_far_as_they_go(tmp_path: Path) -> None:
    """Times that run backwards, events of unknown stages, lines that are not JSON."""
    path = record(tmp_path, DONE, NODES)
    lines = (path / "events.jsonl").read_text("utf-8").splitlines()
    extra: list[Any] = [
        {"schema": 1, "kind": "stage_finished", "stage": "<b>", "status": "odd", "time": "x"},
        {"schema": 1, "kind": "change_started", "stage": "?", "action": "a", "target": "t"},
        {
            "schema": 1,
            "kind": "stage_started",
            "stage": "late",
            "time": "2020-01-01T00:00:00+00:00",
        },
    ]
    damaged = [*lines[:5], "{", *map(json.dumps, extra), *reversed(lines[5:]), "null", "[]"]
    (path / "events.jsonl").write_text("\n".join(damaged), encoding="utf-8")
    page = report_html(find_run(tmp_path / ".talops", DONE))
    assert "<b>" not in page
    assert "cp-1" in page
