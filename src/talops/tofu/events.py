"""Events of an OpenTofu run, and the decisions of talops about its plans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from talops.events import Event

# The action of an operation → what is happening.
DOING = {
    "create": "creating",
    "update": "updating",
    "delete": "destroying",
    "replace": "replacing",
    "read": "reading",
    "forget": "removing from state",
}


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
    """Progress of one resource: `phase` is start, progress, complete or error."""

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
    """A resource differs from the state."""

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
    """A warning or error of OpenTofu or a provider; `where` is file:line if known."""

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
    """Any other output."""

    layer: str
    message: str


@dataclass(frozen=True)
class PlanJudged(Event):
    """The judged plan: one row per change, as returned by `judge.Judged.as_dict`."""

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
    """OpenTofu was interrupted; it stops when the resources in progress are done."""

    layer: str


@dataclass(frozen=True)
class Retrying(Event):
    layer: str
    attempt: int
    reason: str
