"""A whole plan for a person or a program: stages in order, objects with reasons, what it costs."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.plural import count
from talops.views.impacts import disruptions, impacts_of, item_lines, tally
from talops.views.words import SIGNS, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.events import PlannedChange
    from talops.views.board import Board, StageRow

WIDTH = 80


@dataclass(frozen=True)
class Condition:
    """Something that decides when the plan can be applied; `holds`: it prevents that now."""

    name: str
    text: str
    holds: bool = False
    hint: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "text": self.text, "holds": self.holds, "hint": self.hint}


@dataclass(frozen=True)
class PlanReport:
    cluster: str
    stages: tuple[StageRow, ...]
    conditions: tuple[Condition, ...] = ()

    @property
    def changes(self) -> list[PlannedChange]:
        return [change for row in self.stages for change in row.planned]

    @property
    def unknown(self) -> list[StageRow]:
        return [r for r in self.stages if r.outlook and r.outlook.outlook == "unknown"]

    @property
    def differs(self) -> bool:
        return bool(self.changes or self.unknown)

    @property
    def items(self) -> list[dict[str, Any]]:
        return [item for change in self.changes for item in change.items]

    @property
    def refused(self) -> list[dict[str, str | None]]:
        return [change.refused for change in self.changes if change.refused]

    @property
    def last_seconds(self) -> float | None:
        """Of those changes that were made before; None if none was."""
        known = [c.last_seconds for c in self.changes if c.last_seconds is not None]
        return round(sum(known), 3) if known else None


def report_of(board: Board, conditions: Sequence[Condition] = ()) -> PlanReport:
    cluster = board.started.cluster if board.started else ""
    return PlanReport(cluster, tuple(board.stages.values()), tuple(conditions))


def as_data(report: PlanReport) -> dict[str, Any]:
    """The document of `-o json`."""
    impacts: dict[str, int] = {}
    for change in report.changes:
        for impact in impacts_of(change):
            impacts[str(impact)] = impacts.get(str(impact), 0) + 1
    return {
        "version": 1,
        "cluster": report.cluster,
        "differences": len(report.changes),
        "complete": not report.unknown,
        "impacts": impacts,
        "disrupted": [item["name"] for item in report.items if item["disruptive"]],
        "refused": report.refused,
        "last_seconds": report.last_seconds,
        "conditions": [condition.as_dict() for condition in report.conditions],
        "stages": [_stage(row) for row in report.stages],
    }


def _stage(row: StageRow) -> dict[str, Any]:
    outlook = row.outlook
    return {
        "stage": row.name,
        "outlook": outlook.outlook if outlook else "unknown",
        "depends_on": outlook.depends_on if outlook else None,
        "reason": outlook.reason if outlook else "",
        "changes": [
            {k: v for k, v in vars(change).items() if k != "stage"} for change in row.planned
        ],
    }


def plan_text(report: PlanReport, width: int = WIDTH) -> Iterator[str]:
    """At most `width` columns; a long word stays whole."""
    if not report.differs:
        yield f"No differences: cluster {report.cluster} matches the inventory."
        return
    yield f"Plan for cluster {report.cluster}, in this order:"
    yield ""
    shown = [row for row in report.stages if row.planned or row in report.unknown]
    for number, row in enumerate(shown, start=1):
        yield from _stage_lines(number, row, width)
    yield ""
    yield from _summary(report, width)


def _stage_lines(number: int, row: StageRow, width: int) -> Iterator[str]:
    if row.outlook and row.outlook.outlook == "unknown":
        # A reason may be an error with its hint; what is known later needs no hint.
        reason = row.outlook.reason.partition(" — ")[0]
        text = f"known after {row.outlook.depends_on}: {reason}"
        yield from _wrapped(f"{number:>2} {row.name}: {text}", width, 5)
        return
    yield f"{number:>2} {row.name}"
    for change in row.planned:
        detail = f"  ({change.detail})" if change.detail else ""
        took = f"  last time {duration(change.last_seconds)}" if change.last_seconds else ""
        sign = SIGNS.get(change.action, "*")
        line = f"   {sign} {change.action} {change.target}{detail}{took}"
        yield from _wrapped(line, width, 7)
        for item in item_lines(change):
            yield from _wrapped(f"       {item}", width, 11)
        if change.refused:
            yield from _wrapped(f"       refused: {change.refused['what']}", width, 11)
            if change.refused["hint"]:
                yield from _wrapped(f"       next: {change.refused['hint']}", width, 11)


def _summary(report: PlanReport, width: int) -> Iterator[str]:
    impacts = [impact for change in report.changes for impact in impacts_of(change)]
    parts = [f"{count(len(impacts), 'change')}: {tally(impacts)}" if impacts else "0 changes"]
    if report.unknown:
        parts.append(f"{count(len(report.unknown), 'stage')} planned later")
    yield from _wrapped("; ".join(parts), width, 2)
    stops = disruptions(report.items)
    yield from _wrapped(f"Disruptive: {stops}" if stops else "Nothing is disrupted.", width, 2)
    if report.last_seconds is not None:
        yield f"These changes took {duration(report.last_seconds)} last time, one after the other."
    for condition in report.conditions:
        hint = f"; next: {condition.hint}" if condition.hint and condition.holds else ""
        yield from _wrapped(f"{condition.name}: {condition.text}{hint}", width, 2)


def _wrapped(line: str, width: int, indent: int) -> Iterator[str]:
    """Several lines in the text (as of an error) stay several lines."""
    for number, part in enumerate(line.splitlines()):
        text = part if number == 0 else " " * indent + part.strip()
        lead = text[: len(text) - len(text.lstrip())]
        yield from textwrap.wrap(
            text.lstrip(),
            width,
            initial_indent=lead,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
