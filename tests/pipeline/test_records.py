"""The diary, the run directory and what can be read back from them."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from talops.errors import DeniedError, TalopsError
from talops.events import Event, Log, Note, RunFinished, RunStarted
from talops.pipeline import diary
from talops.pipeline.compare import compare
from talops.pipeline.history import KEEP_PLANS, find_run, list_runs, prune, read_events
from talops.pipeline.record import Record, run_recorded
from talops.pipeline.run import Run
from talops.pipeline.rundir import new_run_id
from talops.pipeline.runner import Options
from talops.pipeline.stage import Change, Reporter, Stage
from talops.redaction import Redactor, Secret

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = 'pass"word\\with-everything'


class Writer(Stage[bool, Change]):
    """Writes one file, and talks about a password while it does."""

    name = "write"

    def __init__(self, recorder: Record, target: Path, text: str) -> None:
        self.recorder, self.target, self.text = recorder, target, text
        self.report = Reporter(self.name, recorder.emit)

    async def observe(self) -> bool:
        return self.target.exists()

    def plan(self, facts: bool) -> list[Change]:
        return [] if facts else [Change("create", self.target.name, f"with {PASSWORD}")]

    async def apply(self, change: Change) -> None:
        self.report.log(f"secret is {PASSWORD}")
        self.recorder.artifact(self.name, "plan.txt", f"{self.text}\n{PASSWORD}\n")
        if self.text == "fail":
            raise DeniedError(f"refused {PASSWORD}")
        self.target.write_text(self.text)

    async def verify(self, _: object, /) -> None:
        pass


async def run(
    root: Path, text: str = "hello", *, dry_run: bool = False, keep: int = 50
) -> tuple[int, list[Event]]:
    events: list[Event] = []
    for name in ("cluster.yaml", "nodes.yaml"):
        (root / name).touch()
    run = Run(
        "up",
        "demo",
        root,
        lambda record: [Writer(record, root / "out", text)],
        inventory=[root / "cluster.yaml", root / "nodes.yaml"],
        tools={"tofu": "1.12.6"},
        options=Options(dry_run=dry_run),
        redact=Redactor([Secret(PASSWORD)]),
        keep=keep,
    )
    result = await run_recorded(run, view=events.append)
    return result.exit_code, events


def everything_below(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


@pytest.mark.parametrize("text", ["hello", "fail"])
async def test_no_secret_and_no_open_file_in_the_record(tmp_path: Path, text: str) -> None:
    """Logs, events, artifacts and results are masked and private, in success and in failure."""
    _, events = await run(tmp_path, text)
    files = everything_below(tmp_path / ".talops")
    assert {f.name for f in files} >= {"events.jsonl", "write.log", "plan.txt", "result.json"}
    needles = (PASSWORD, json.dumps(PASSWORD)[1:-1])
    for file in files:
        assert not any(needle in file.read_text() for needle in needles), file
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert not any(PASSWORD in str(e) for e in events if not isinstance(e, Log))


async def test_a_run_can_be_read_back(tmp_path: Path) -> None:
    """List, show and events give what the run said, and its first line says what it is."""
    code, events = await run(tmp_path)
    past = find_run(tmp_path / ".talops", "last")
    assert (code, past.status, past.info.tools) == (0, "done", {"tofu": "1.12.6"})
    assert [(s.stage, str(s.status)) for s in past.stages] == [("write", "changed")]
    recorded = [event for _, event in read_events(past)]
    assert recorded == [event for event in events if not isinstance(event, Log)]
    assert isinstance(recorded[0], RunStarted)
    assert isinstance(recorded[-1], RunFinished)
    assert find_run(tmp_path / ".talops", past.info.id[:15]).info.id == past.info.id


async def test_a_changed_inventory_is_said(tmp_path: Path) -> None:
    """The second run names the file that is not what the first one saw."""
    await run(tmp_path)
    _, events = await run(tmp_path)
    assert isinstance(events[0], RunStarted)
    assert events[0].changed_files == ()
    (tmp_path / "nodes.yaml").write_text("nodes: []\n")
    _, events = await run(tmp_path)
    assert isinstance(events[0], RunStarted)
    assert events[0].changed_files == ("nodes.yaml",)


async def test_a_dry_run_leaves_the_diary_alone(tmp_path: Path) -> None:
    """A look has its run directory, but the next run still compares with the last real one."""
    code, _ = await run(tmp_path, dry_run=True)
    assert code == 2
    assert not (tmp_path / ".talops" / "checkpoint.json").exists()
    assert len(list_runs(tmp_path / ".talops")) == 1


async def test_two_runs_are_compared(tmp_path: Path) -> None:
    """What differs: status, changes, and the text of their artifacts."""
    await run(tmp_path, "fail")
    await run(tmp_path, "hello")
    home = tmp_path / ".talops"
    after, before = list_runs(home)
    found = compare(before, after)
    rows = [(d.what, d.before, d.after) for d in found.differences]
    assert ("status", "failed", "done") in rows
    assert ("stage write", "failed", "changed") in rows
    assert "-fail\n+hello" in found.artifacts["write/plan.txt"]


async def test_only_so_many_runs_are_kept(tmp_path: Path) -> None:
    """The newest stay."""
    for _ in range(4):
        await run(tmp_path, keep=3)
    home = tmp_path / ".talops"
    ids = [past.info.id for past in list_runs(home)]
    assert len(ids) == 3
    assert prune(home / "runs", keep=1) == ids[1:]


def test_plans_do_not_displace_runs(tmp_path: Path) -> None:
    """A job that plans every hour keeps the last `up` on record; the newest plans stay."""
    first = tmp_path / new_run_id("up", datetime(2026, 11, 19, 1, tzinfo=UTC))
    first.mkdir()
    plans = []
    for minute in range(KEEP_PLANS + 3):
        at = datetime(2026, 11, 19, 2, minute, tzinfo=UTC)
        plans.append(tmp_path / new_run_id("plan", at))
        plans[-1].mkdir()
    removed = prune(tmp_path, keep=KEEP_PLANS)
    assert sorted(removed) == [path.name for path in plans[:3]]
    assert first.is_dir()


async def test_a_run_without_result_was_killed(tmp_path: Path) -> None:
    """The lock is free and no result was written; a torn last line is left out."""
    await run(tmp_path)
    past = find_run(tmp_path / ".talops", "last")
    (past.path / "result.json").unlink()
    with (past.path / "events.jsonl").open("a") as file:
        file.write('{"schema": 1, "kind": "no')
    again = find_run(tmp_path / ".talops", "last")
    assert again.status == "killed"
    assert len(list(read_events(again))) == len(list(read_events(past)))


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ("", "problem"),
        ("{]", "problem"),
        ('{"format": 1}', "problem"),
        ('{"format": 1, "run": "r"}', "problem"),
        ("[]", "problem"),
        ('{"format": 99}', "newer"),
    ],
)
async def test_a_damaged_diary_is_no_obstacle(tmp_path: Path, content: str, outcome: str) -> None:
    """It is history, not truth: damage is said and passed over; a newer format is not rewritten."""
    file = tmp_path / ".talops" / "checkpoint.json"
    file.parent.mkdir()
    file.write_text(content)
    if outcome == "newer":
        with pytest.raises(TalopsError, match="newer talops"):
            await run(tmp_path)
        assert file.read_text() == content
        return
    code, events = await run(tmp_path)
    assert code == 0
    assert any(isinstance(e, Note) and "starting a new one" in e.message for e in events)
    assert diary.load(file).stages["write"].status == "changed"


def test_run_ids_sort_by_time() -> None:
    """The order of the names is the order of the runs."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ids = [new_run_id("up --yes", start + timedelta(milliseconds=i * 7)) for i in range(50)]
    assert ids == sorted(ids)
    assert ids[0].startswith("20260101-000000-000-up-")
