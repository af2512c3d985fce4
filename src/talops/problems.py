"""What a rule found wrong, where, and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar


class Severity(StrEnum):
    """Errors must be fixed; warnings and notes need not be."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, order=True)
class Position:
    """A place in a file. Line and column start at 1; 0 is all of the file, or of the line."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)


PlaceT = TypeVar("PlaceT")


@dataclass(frozen=True)
class Problem(Generic[PlaceT]):
    """`rule` names the check that reported it."""

    rule: str
    where: PlaceT
    what: str
    hint: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        label = "" if self.severity is Severity.ERROR else f"{self.severity}: "
        return f"{self.where}: {label}{self.what} — {self.hint}"


FileProblem: TypeAlias = Problem[Position]
