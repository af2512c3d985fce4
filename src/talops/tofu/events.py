"""What OpenTofu tells while it works, and what talops decides about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from talops.events import Event


@dataclass(frozen=True)
class LayerStarted(Event):
    """`step` is init, plan, apply, destroy, refresh, check …"""

    layer: str
    step: str


@dataclass(frozen=True)
class LayerDone(Event):
    layer: str
    step: str
    seconds: float


@dataclass(frozen=True)
class ResourceChange(Event):
    """One resource on its way: `phase` is start, progress, complete or error."""

    layer: str
    address: str
    action: str
    phase: str
    seconds: float = 0


@dataclass(frozen=True)
class ResourceRefresh(Event):
    layer: str
    address: str
    phase: str


@dataclass(frozen=True)
class ResourcePlanned(Event):
    layer: str
    address: str
    action: str
    reason: str = ""


@dataclass(frozen=True)
class ResourceDrifted(Event):
    """The world differs from what the state remembers."""

    layer: str
    address: str
    action: str


@dataclass(frozen=True)
class ChangeSummary(Event):
    layer: str
    operation: str
    add: int
    change: int
    remove: int
    imported: int = 0
    forgotten: int = 0


@dataclass(frozen=True)
class Diagnostic(Event):
    """A warning or error of OpenTofu or a provider; `where` is file:line if it knows one."""

    layer: str
    severity: str
    summary: str
    detail: str = ""
    address: str = ""
    where: str = ""


@dataclass(frozen=True)
class Outputs(Event):
    """Names of the outputs; values only where they are not sensitive."""

    layer: str
    values: dict[str, Any]


@dataclass(frozen=True)
class TofuLine(Event):
    """Anything else it printed."""

    layer: str
    message: str


@dataclass(frozen=True)
class PlanJudged(Event):
    """The verdict on a saved plan: one row per change, as `judge.Judged.as_dict` gives it."""

    layer: str
    changes: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class BatchStarted(Event):
    """One step of an ordered apply; `number` of `total`."""

    layer: str
    number: int
    total: int
    names: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Interrupted(Event):
    """The program was asked to stop; it ends with the resources that it works on."""

    layer: str


@dataclass(frozen=True)
class Retrying(Event):
    layer: str
    attempt: int
    reason: str
