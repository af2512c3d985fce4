"""Every error that a user can meet.

TalopsError                       exit 1   failed; `what`, `where`, `hint`
├── InventoryError                exit 3   cluster.yaml / nodes.yaml are invalid
├── DifferencesFoundError         exit 2   plan, drift, configure --check, up --dry-run
├── PreflightError                exit 4   something the run needs is missing
├── InterruptedRunError           exit 130 Ctrl-C, the run can be resumed
├── UnreachableError                       no answer; never the same as "does not exist"
├── DeniedError                            the request was refused
├── NotReadyError                          not yet; waiting may help
├── ConflictError                          held by another process, or it already exists
├── NotApprovedError                       the plan changed since it was approved
├── WaitTimeoutError                       a condition was not met in time
└── ToolError                              tofu, sops, git … failed

Each client translates third-party exceptions into these. Any other exception that reaches the top
is a bug and shows its traceback.
"""

from __future__ import annotations


class TalopsError(Exception):
    """What went wrong, where (file:line, node, URL), and the next command to run."""

    exit_code = 1

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" — {self.hint}" if self.hint else ""
        return f"{place}{self.what}{advice}"

    def as_dict(self) -> dict[str, str | None]:
        return {"what": self.what, "where": self.where, "hint": self.hint}


class InventoryError(TalopsError):
    exit_code = 3


class DifferencesFoundError(TalopsError):
    exit_code = 2


class PreflightError(TalopsError):
    exit_code = 4


class InterruptedRunError(TalopsError):
    exit_code = 130


class UnreachableError(TalopsError):
    pass


class DeniedError(TalopsError):
    pass


class NotReadyError(TalopsError):
    pass


class ConflictError(TalopsError):
    pass


class NotApprovedError(TalopsError):
    pass


class WaitTimeoutError(TalopsError):
    pass


class ToolError(TalopsError):
    pass
