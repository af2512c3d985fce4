"""One failed check, and how to fix it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    rule: str
    what: str
    fix: str
    where: str = ""
    severity: Severity = Severity.ERROR

    def as_dict(self) -> dict[str, str]:
        return {
            "rule": self.rule,
            "severity": str(self.severity),
            "what": self.what,
            "where": self.where,
            "fix": self.fix,
        }


def unread(what: str, reason: str, hint: str | None) -> Finding:
    return Finding(
        "unread", f"could not read {what}: {reason}", hint or "run talops host check again"
    )
