"""What is wrong with an inventory, where, and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """Errors make the inventory invalid; warnings and notes do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, order=True)
class Position:
    """A place in a file; line and column start at 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Problem:
    """One finding; `rule` names the check that reported it."""

    rule: str
    position: Position
    what: str
    hint: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        label = "" if self.severity is Severity.ERROR else f"{self.severity}: "
        return f"{self.position}: {label}{self.what} — {self.hint}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "file": self.position.file,
            "line": self.position.line,
            "column": self.position.column,
            "what": self.what,
            "hint": self.hint,
        }


def in_order(problems: list[Problem]) -> list[Problem]:
    """Sorted by position, each finding once."""
    return sorted(set(problems), key=lambda p: (p.position, p.severity, p.rule, p.what))


def errors(problems: list[Problem]) -> list[Problem]:
    return [p for p in problems if p.severity is Severity.ERROR]
