"""Which failures are transient. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.tofu.events import Diagnostic

# A retry would get the same response.
FINAL = re.compile(
    r"permission|authentication failure|unauthorized|no such (user|token|storage)|invalid token"
    r"|\b40[0134]\b|no space left|out of space|not enough (free )?space|already exists"
    r"|parameter verification failed|certificate|unsupported",
    re.IGNORECASE,
)
# The provider deletes the old file without waiting: the second attempt succeeds.
SURE = re.compile(r"refusing to override existing file", re.IGNORECASE)
PASSING = re.compile(
    r"got timeout|can't lock file|unable to acquire lock|trying to acquire lock"
    r"|vm is locked|is locked \(|got no worker upid|storage .{0,80}locked|lock file"
    r"|connection reset|connection refused|closed (the )?connection|cannot reach"
    r"|broken pipe|unexpected eof|: eof\b|i/o timeout"
    r"|tls handshake timeout|timeout awaiting|deadline exceeded|no route to host"
    r"|\b(502|503|504|595|596|599)\b|too many requests|temporarily unavailable"
    r"|plugin did not respond|plugin exited|plugin6?\.\(\*grpc",
    re.IGNORECASE,
)


def retryable(diagnostics: Sequence[Diagnostic]) -> str | None:
    """The reason for a retry if every error is transient; None if one is permanent."""
    errors = [d for d in diagnostics if d.severity == "error"]
    reasons = [_passing(error) for error in errors]
    return reasons[0] if reasons and all(reasons) else None


def _passing(error: Diagnostic) -> str | None:
    text = f"{error.summary} {error.detail}"
    match = SURE.search(text) or (PASSING.search(text) if not FINAL.search(text) else None)
    if not match:
        return None
    return " ".join(error.summary.split()) or match[0]
