"""Read the records of earlier runs in `.talops/runs`, and remove old ones."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.events import Event, from_json
from talops.pipeline.lock import is_held, read_holder
from talops.pipeline.result import StageResult, StageStatus
from talops.pipeline.rundir import RunInfo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEEP = 50
# Of `talops plan`, such as those of a monitoring job: they must not displace runs that change.
KEEP_PLANS = 10
_PLAN = re.compile(r"-plan-[0-9a-f]+")


@dataclass(frozen=True)
class PastRun:
    """A run as recorded in its directory; without a result its status is running or killed."""

    path: Path
    info: RunInfo
    status: str
    seconds: float | None = None
    ended: str | None = None
    stages: tuple[StageResult, ...] = ()
    error: dict[str, str | None] | None = None

    def artifacts(self) -> list[Path]:
        folder = self.path / "artifacts"
        return sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file())

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.info.id,
            "command": self.info.command,
            "cluster": self.info.cluster,
            "status": self.status,
            "started": self.info.started,
            "ended": self.ended,
            "seconds": self.seconds,
            "talops": self.info.talops,
            "tools": dict(self.info.tools),
            "inventory": dict(self.info.inventory),
            "stages": [vars(stage) for stage in self.stages],
            "artifacts": [str(path) for path in self.artifacts()],
            "error": self.error,
        }


def list_runs(home: Path) -> list[PastRun]:
    """Every readable run below `.talops`, newest first."""
    lock = home / "lock"
    holder = read_holder(lock) if is_held(lock) else None
    running = holder.run if holder else None
    found = (_read(path, running) for path in _directories(home / "runs"))
    return [run for run in found if run]


def find_run(home: Path, name: str) -> PastRun:
    """The run with this id or id prefix; "last" is the newest."""
    runs = list_runs(home)
    if not runs:
        raise TalopsError("there are no runs yet", where=str(home / "runs"), hint="talops up")
    if name == "last":
        return runs[0]
    matches = [run for run in runs if run.info.id.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    what = f"{len(matches)} runs match {name!r}" if matches else f"run {name!r} does not exist"
    raise TalopsError(what, where=str(home / "runs"), hint="talops runs list")


def read_events(run: PastRun) -> Iterator[tuple[str, Event]]:
    """Time and event of every line; incomplete lines and unknown versions are skipped."""
    with (run.path / "events.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            try:
                data = json.loads(line)
            except ValueError:
                continue
            event = from_json(data) if isinstance(data, dict) else None
            if event:
                yield str(data.get("time", "")), event


def read_stage_log(run: PastRun, stage: str) -> str:
    """The full log of a stage; empty if it logged nothing, an error if the stage is unknown."""
    names = [row.stage for row in run.stages] or [p.stem for p in run.path.glob("logs/*.log")]
    if stage not in names:
        raise TalopsError(f"this run has no stage {stage!r}", hint=f"stages: {', '.join(names)}")
    file = run.path / "logs" / f"{stage}.log"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def prune(runs: Path, *, keep: int) -> list[str]:
    """Remove the oldest runs beyond `keep`, and the oldest that only planned; called under the
    lock, so none of them is running.
    """
    found = _directories(runs)
    plans = [path for path in found if _PLAN.search(path.name)]
    others = [path for path in found if path not in plans]
    kept = {*others[: max(keep, 0)], *plans[: min(KEEP_PLANS, max(keep, 0))]}
    removed = [path for path in found if path not in kept]
    for path in removed:
        shutil.rmtree(path, ignore_errors=True)
    return [path.name for path in removed]


def _directories(runs: Path) -> list[Path]:
    if not runs.exists():
        return []
    return sorted((p for p in runs.iterdir() if p.is_dir()), reverse=True)


def _read(path: Path, running: str | None) -> PastRun | None:
    info = _info(path / "run.json")
    if info is None:
        return None
    try:
        result = json.loads((path / "result.json").read_bytes())
        stages = tuple(_stage(stage) for stage in result["stages"])
        return PastRun(
            path,
            info,
            result["status"],
            result["seconds"],
            result["ended"],
            stages,
            result["error"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return PastRun(path, info, "running" if info.id == running else "killed")


def _info(file: Path) -> RunInfo | None:
    """None for a directory without its first file, or written by another version."""
    known = {field.name for field in fields(RunInfo)}
    try:
        data = json.loads(file.read_bytes())
        return RunInfo(**{key: value for key, value in data.items() if key in known})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _stage(data: dict[str, Any]) -> StageResult:
    status = StageStatus(data["status"])
    changes = tuple(data["changes"])
    return StageResult(data["stage"], status, data["reason"], data["seconds"], changes)
