"""What happens during a run, as typed values; views turn them into text, JSON or HTML.

One JSON object per event: `schema` (the version below), `time`, `kind`, then its own fields.
docs/events.md describes every kind; a test keeps the two in step.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

# Increased when a field is renamed, removed or changes meaning; additions are compatible.
SCHEMA = 1


@dataclass(frozen=True)
class Event:
    """The base of all events; `kind` in JSON is the class name in snake_case."""

    @property
    def kind(self) -> str:
        return kind_of(type(self))


@dataclass(frozen=True)
class Note(Event):
    """A message for the user: `level` is info, warning or error."""

    message: str
    level: str = "info"
    hint: str | None = None


@dataclass(frozen=True)
class RunStarted(Event):
    """The first event of a run: its stages, and what changed since the last run."""

    run: str
    command: str
    cluster: str
    stages: tuple[str, ...]
    dry_run: bool = False
    changed_files: tuple[str, ...] = ()
    last_run: str | None = None


@dataclass(frozen=True)
class PlannedChange(Event):
    """One difference between actual and desired state; `action` is create, update, replace …

    `items`: each object that it changes, in the order of the changes, with the impact on it.
    `refused`: why it must not be applied as it is. `last_seconds`: how long it took last time.
    """

    stage: str
    action: str
    target: str
    detail: str = ""
    node: str | None = None
    impact: str = ""
    items: tuple[dict[str, Any], ...] = ()
    refused: dict[str, str | None] | None = None
    last_seconds: float | None = None


@dataclass(frozen=True)
class StagePlanned(Event):
    """What a stage would do: `outlook` is unchanged, changes, unknown or skipped."""

    stage: str
    outlook: str
    changes: int = 0
    depends_on: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class PlanFinished(Event):
    """The plan of all stages is known; nothing has been changed yet."""

    changes: int
    unknown: int


@dataclass(frozen=True)
class StageStarted(Event):
    stage: str


@dataclass(frozen=True)
class StepStarted(Event):
    """A stage enters a step: observe, apply or verify."""

    stage: str
    step: str


@dataclass(frozen=True)
class ChangeStarted(Event):
    stage: str
    action: str
    target: str
    node: str | None = None


@dataclass(frozen=True)
class ChangeFinished(Event):
    stage: str
    action: str
    target: str
    node: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class PartProgress(Event):
    """One of several parallel parts of a change; `phase`: start, progress, done, failed."""

    stage: str
    part: str
    doing: str
    phase: str
    seconds: float = 0.0


@dataclass(frozen=True)
class WaitProgress(Event):
    """The condition a stage waits for, and the last reason it is not met."""

    stage: str
    name: str
    reason: str
    seconds: float
    node: str | None = None


@dataclass(frozen=True)
class NodeStatus(Event):
    """New information about a node; None keeps the previous value."""

    node: str
    vm: str | None = None
    talos: str | None = None
    kubernetes: str | None = None


@dataclass(frozen=True)
class MachineEnrolled(Event):
    """A machine proved to be a node and gets its first config: who it is, and by what evidence."""

    node: str
    address: str
    fingerprint: str
    uuid: str
    macs: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Log(Event):
    """One line for the log of a stage; views do not show it."""

    stage: str
    text: str


@dataclass(frozen=True)
class Artifact(Event):
    """A file that the run produced; `path` is relative to the run's directory."""

    stage: str
    path: str


@dataclass(frozen=True)
class StageFinished(Event):
    """`status`: unchanged, changed, skipped, failed, interrupted."""

    stage: str
    status: str
    reason: str = ""
    seconds: float = 0.0
    changes: int = 0


@dataclass(frozen=True)
class RunFinished(Event):
    """The last event; `status`: done, unchanged, differences, failed, interrupted, declined."""

    run: str
    status: str
    seconds: float
    error: dict[str, str | None] | None = None
    next_commands: tuple[str, ...] = ()


Emit = Callable[[Event], None]


def kind_of(event: type[Event]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event.__name__).lower()


KINDS: dict[str, type[Event]] = {kind_of(event): event for event in Event.__subclasses__()}


def to_json(event: Event, *, now: datetime | None = None) -> dict[str, Any]:
    stamp = (now or datetime.now(UTC)).isoformat(timespec="milliseconds")
    return {"schema": SCHEMA, "time": stamp, "kind": event.kind, **dataclasses.asdict(event)}


def from_json(data: dict[str, Any]) -> Event | None:
    """The event that `to_json` wrote; None for a kind or schema that this version does not know."""
    shape = KINDS.get(str(data.get("kind")))
    if shape is None or data.get("schema") != SCHEMA:
        return None
    known = {field.name for field in dataclasses.fields(shape)}
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items() if k in known}
    try:
        return shape(**values)
    except TypeError:  # a required field is missing: not written by talops
        return None
