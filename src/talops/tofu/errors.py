"""The error of a failed OpenTofu run, with the next command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.tofu.events import Diagnostic

_LOCK_ID = re.compile(r"ID:\s+(\S+)")
_REASON = re.compile(r"^Reason: (.+)$", re.MULTILINE)
WRONG_KEY = (
    "state_encryption_passphrase is not the one that this state was written with: set it "
    "(talops secrets edit), or restore an older state (talops state versions)"
)
_HINTS = (
    ("Saved plan is stale", "talops infra plan{layer}"),
    ("Inconsistent dependency lock file", "talops infra init{layer}"),
    ("Backend initialization required", "talops infra init{layer}"),
    ("Required plugins are not installed", "talops infra init{layer}"),
    ("Missing required provider", "talops infra init{layer}"),
    ("Module not installed", "talops infra init{layer}"),
    ("provider plugin", "talops infra init{layer}"),
    *((words, WRONG_KEY) for words in ("decryption failed", "encryption method")),
    ("not locked", "the state is not locked: run the failed command again"),
    ("already managed", "talops infra state-list{layer}"),
    ("Proxmox VE API credentials", "talops host prepare, or set PROXMOX_VE_API_TOKEN"),
)
USUAL = "fix the reported problem, then run the same command again"
AGAIN = "run the same command again to continue"


class TofuError(ToolError):
    """Contains the diagnostics, to distinguish transient from permanent failures."""

    def __init__(
        self, what: str, *, where: str, hint: str, diagnostics: Sequence[Diagnostic]
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.diagnostics = tuple(diagnostics)


def failure(
    layer: str, step: str, code: int, diagnostics: Sequence[Diagnostic], errors: str
) -> TofuError:
    """The error for a run that ended with `code`."""
    found = [d for d in diagnostics if d.severity == "error"]
    if not found:
        killed = f"it was killed by signal {-code}" if code < 0 else f"it ended with code {code}"
        text = " ".join(errors.split())[-600:] or killed
        hint = AGAIN if code < 0 else USUAL
        return TofuError(f"{step} failed: {text}", where=layer, hint=hint, diagnostics=diagnostics)
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    detail = " ".join(_detail(first).split())
    what = f"{step} failed: {first.summary}" + (f": {detail}" if detail else "") + more
    place = " ".join(part for part in (layer, first.address, first.where) if part)
    return TofuError(what, where=place, hint=_hint(layer, first), diagnostics=diagnostics)


def _detail(error: Diagnostic) -> str:
    """Of a layer that is not initialised, the reason; its page of advice has been shown."""
    found = _REASON.search(error.detail) if "initialization required" in error.summary else None
    return found[1] if found else error.detail


def _hint(layer: str, error: Diagnostic) -> str:
    text = f"{error.summary} {error.detail}"
    flag = f" --layer {layer}"
    if "state lock" in error.summary.lower():
        found = _LOCK_ID.search(error.detail)
        lock = found[1] if found else "LOCK_ID"
        return f"if no other run is active: talops infra force-unlock{flag} {lock}"
    for words, hint in _HINTS:
        if words in text:
            return hint.format(layer=flag)
    return USUAL
