"""What happens during a run, as typed values; views turn them into text, JSON or HTML.

One JSON object per event: `schema` (the version below), `time`, `kind`, then its own fields.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

SCHEMA = 1


@dataclass(frozen=True)
class Event:
    """The base of all events; `kind` in JSON is the class name in snake_case."""

    @property
    def kind(self) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()


@dataclass(frozen=True)
class Note(Event):
    """Something worth a line: `level` is info, warning or error."""

    message: str
    level: str = "info"
    hint: str | None = None


Emit = Callable[[Event], None]


def to_json(event: Event, *, now: datetime | None = None) -> dict[str, Any]:
    stamp = (now or datetime.now(UTC)).isoformat(timespec="milliseconds")
    return {"schema": SCHEMA, "time": stamp, "kind": event.kind, **dataclasses.asdict(event)}
