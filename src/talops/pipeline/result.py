"""One result object per run; summary, JSON, exit code and report all derive from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talops.errors import TalopsError


class StageStatus(StrEnum):
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    SKIPPED = "skipped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    # Only in a dry run:
    WOULD_CHANGE = "would change"
    UNKNOWN = "unknown"
    # The run ended before this stage.
    NOT_REACHED = "not reached"


class RunStatus(StrEnum):
    DONE = "done"
    UNCHANGED = "unchanged"
    DIFFERENCES = "differences"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    DECLINED = "declined"


@dataclass(frozen=True)
class StageResult:
    stage: str
    status: StageStatus
    reason: str = ""
    seconds: float = 0.0
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunResult:
    status: RunStatus
    stages: tuple[StageResult, ...]
    seconds: float
    error: TalopsError | None = None

    @property
    def exit_code(self) -> int:
        if self.error is not None:
            return self.error.exit_code
        return {RunStatus.DIFFERENCES: 2, RunStatus.DECLINED: 1}.get(self.status, 0)

    def as_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "seconds": self.seconds,
            "exit_code": self.exit_code,
            "stages": [asdict(stage) for stage in self.stages],
            "error": self.error.as_dict() if self.error else None,
        }
