"""The problems of an inventory: in order, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.problems import Severity

if TYPE_CHECKING:
    from talops.problems import FileProblem


def as_dict(problem: FileProblem) -> dict[str, Any]:
    return {
        "rule": problem.rule,
        "severity": problem.severity.value,
        "file": problem.where.file,
        "line": problem.where.line,
        "column": problem.where.column,
        "what": problem.what,
        "hint": problem.hint,
    }


def in_order(problems: list[FileProblem]) -> list[FileProblem]:
    """Sorted by position, each problem once."""
    return sorted(set(problems), key=lambda p: (p.where, p.severity, p.rule, p.what))


def errors(problems: list[FileProblem]) -> list[FileProblem]:
    return [p for p in problems if p.severity is Severity.ERROR]
