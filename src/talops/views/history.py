"""Earlier runs as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from talops.pipeline.history import read_events
from talops.plural import count
from talops.views.lines import EventText
from talops.views.words import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.pipeline.compare import Comparison
    from talops.pipeline.history import PastRun

STYLES = {"failed": "red", "killed": "red", "interrupted": "yellow", "running": "cyan"}


def runs_table(runs: Sequence[PastRun]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in ("RUN", "CLUSTER", "STATUS", "TOOK", "CHANGES"):
        table.add_column(title, no_wrap=True)
    for run in runs:
        changes = f"{sum(len(stage.changes) for stage in run.stages)}"
        changes += " planned" if run.status == "differences" else ""
        took = duration(run.seconds) if run.seconds is not None else "-"
        status = Text(run.status, STYLES.get(run.status, ""))
        table.add_row(run.info.id, run.info.cluster, status, took, changes)
    return table


def run_lines(run: PastRun) -> Iterator[str]:
    info = run.info
    yield f"run       {info.id}"
    yield f"command   talops {info.command} (cluster {info.cluster})"
    took = f" after {duration(run.seconds)}" if run.seconds is not None else ""
    yield f"status    {run.status}{took}"
    yield f"started   {info.started}"
    tools = ", ".join(f"{name} {version}" for name, version in info.tools.items())
    yield f"versions  talops {info.talops}" + (f", {tools}" if tools else "")
    for name, digest in info.inventory.items():
        yield f"inventory {name} sha256:{digest[:12]}"
    yield from _stage_lines(run)
    if run.error:
        yield f"error     {run.error['what']}"
        yield from (f"          {run.error[k]}" for k in ("where", "hint") if run.error.get(k))
    yield f"record    {run.path}"


def _stage_lines(run: PastRun) -> Iterator[str]:
    width = max((len(stage.stage) for stage in run.stages), default=0)
    for stage in run.stages:
        reason = f"  {stage.reason}" if stage.reason else ""
        yield f"  {stage.stage:<{width}}  {duration(stage.seconds):>6}  {stage.status}{reason}"
        for change in stage.changes:
            yield f"  {'':<{width}}          {change}"


def event_lines(run: PastRun) -> Iterator[str]:
    """The plain lines of the run, each with its time of day."""
    text = EventText()
    for stamp, event in read_events(run):
        for line in text.tell(event):
            yield f"{stamp[11:19]} {line}"


def comparison_lines(found: Comparison) -> Iterator[str]:
    yield f"{found.before} → {found.after}"
    width = max((len(d.what) for d in found.differences), default=0)
    for difference in found.differences:
        before, after = difference.before or "-", difference.after or "-"
        yield f"  {difference.what:<{width}}  {before} → {after}"
    if not found.differences:
        yield "  no differences"
    yield from found.artifacts.values()
    if found.artifacts:
        verb = "differs" if len(found.artifacts) == 1 else "differ"
        yield f"{count(len(found.artifacts), 'artifact')} {verb}"
