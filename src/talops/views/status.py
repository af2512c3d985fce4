"""The status of a cluster as lines that fit on a small terminal."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

MARKS = {"good": "✓", "notice": "!", "bad": "✗", "unknown": "?"}
STYLES = {"good": "", "notice": "yellow", "bad": "bold red", "unknown": "yellow"}
INDENT = 16


class Level(StrEnum):
    """`unknown`: it could not be read, which is neither good nor bad."""

    GOOD = "good"
    NOTICE = "notice"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Row:
    """One line of the screen; `details` are shown below it."""

    name: str
    level: Level
    text: str
    details: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True)
class Status:
    cluster: str
    at: datetime
    rows: tuple[Row, ...]

    @property
    def healthy(self) -> bool:
        return not any(row.level is Level.BAD for row in self.rows)

    @property
    def complete(self) -> bool:
        return not any(row.level is Level.UNKNOWN for row in self.rows)

    @property
    def next_command(self) -> str:
        """Of the worst row that names one."""
        order = (Level.BAD, Level.UNKNOWN, Level.NOTICE)
        found = [
            row.hint for level in order for row in self.rows if row.level is level and row.hint
        ]
        return found[0] if found else ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "version": 1,
            "cluster": self.cluster,
            "time": self.at.isoformat(timespec="seconds"),
            "healthy": self.healthy,
            "complete": self.complete,
            "next": self.next_command or None,
            "rows": [asdict(row) for row in self.rows],
        }


def status_lines(status: Status, width: int = 80) -> Iterator[tuple[str, str]]:
    """Text and style; an explanation that is too long for one line ends with …"""
    yield f"talops status · cluster {status.cluster} · {status.at:%Y-%m-%d %H:%M %Z}", "bold"
    yield "", ""
    for row in status.rows:
        style = STYLES[row.level]
        lead = f"{MARKS[row.level]} {row.name:<{INDENT - 3}} "
        for line in textwrap.wrap(row.text, width - INDENT) or [""]:
            yield lead + line, style
            lead = " " * INDENT
        for detail in row.details:
            yield " " * INDENT + _cut(detail, width - INDENT), style
    yield "", ""
    yield f"next: {status.next_command or 'nothing to do'}", "bold"


def _cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
