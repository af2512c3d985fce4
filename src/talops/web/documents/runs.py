"""The runs of a site: history, one run as a picture, two runs compared. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from talops.views.runview import tone_of
from talops.views.words import duration
from talops.web.documents import VERSION
from talops.web.documents.ages import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from talops.pipeline.compare import Comparison
    from talops.pipeline.history import PastRun
    from talops.views.runview import RunView


def runs(cluster: str, found: Sequence[PastRun], now: datetime) -> dict[str, Any]:
    return {
        "version": VERSION,
        "cluster": cluster,
        "runs": [_run(run) for run in found],
        # Records are read when they are shown: they have no age.
        "ages": [],
        "time": stamp(now),
    }


def _run(run: PastRun) -> dict[str, Any]:
    return {
        "id": run.info.id,
        "command": run.info.command,
        "status": run.status,
        "tone": tone_of(run.status),
        "started": run.info.started,
        "ended": run.ended,
        "seconds": run.seconds,
        "took": duration(run.seconds) if run.seconds is not None else None,
        "changes": sum(len(stage.changes) for stage in run.stages),
        "error": (run.error or {}).get("what"),
    }


def run(cluster: str, view: RunView, now: datetime) -> dict[str, Any]:
    data = asdict(view)
    data |= {"started": stamp(view.started), "ended": stamp(view.ended)}
    return {"version": VERSION, "cluster": cluster, "run": data, "ages": [], "time": stamp(now)}


def comparison(cluster: str, found: Comparison, now: datetime) -> dict[str, Any]:
    return {
        "version": VERSION,
        "cluster": cluster,
        "comparison": found.as_dict(),
        # Records are read when they are shown: they have no age.
        "ages": [],
        "time": stamp(now),
    }
