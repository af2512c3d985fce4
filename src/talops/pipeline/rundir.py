"""`.talops/runs/<id>/`: the record of a run, masked and private."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Self

from talops import __version__
from talops.events import SCHEMA, Artifact, Event, Log, to_json
from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from talops.pipeline.result import RunResult


@dataclass(frozen=True)
class RunInfo:
    """Facts about the run, recorded when it starts."""

    id: str
    command: str
    cluster: str
    started: str
    inventory: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)
    talops: str = __version__
    schema: int = SCHEMA


def new_run_id(command: str, now: datetime | None = None) -> str:
    """Sorts by time, names the command, and is unique enough to be typed as a prefix."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S-%f")[:-3]
    return f"{stamp}-{command.split(maxsplit=1)[0]}-{secrets.token_hex(2)}"


class RunDirectory:
    """Write the record of one run; every text passes the redactor."""

    def __init__(self, path: Path, info: RunInfo, redact: Redactor | None = None) -> None:
        self.path = make_private_directory(path)
        self.info = info
        self.redact = redact or Redactor()
        self._logs: dict[str, IO[str]] = {}
        self._events = self._open("events.jsonl")
        self._write("run.json", json.dumps(asdict(info), indent=2) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in (self._events, *self._logs.values()):
            file.close()

    def record(self, event: Event) -> None:
        """Append one event; log lines go to the log of their stage."""
        if isinstance(event, Log):
            self._log(event.stage).write(self.redact(event.text) + "\n")
            return
        self._events.write(self.redact_json(to_json(event)) + "\n")

    def artifact(self, stage: str, name: str, text: str) -> Artifact:
        """Store a text (a plan, a diff) and return the event that announces it."""
        relative = f"artifacts/{stage}/{name}"
        self._write(relative, self.redact(text))
        return Artifact(stage, relative)

    def finish(self, result: RunResult) -> None:
        data = {**result.as_dict(), "ended": datetime.now(UTC).isoformat(timespec="seconds")}
        self._write("result.json", self.redact_json(data, indent=2) + "\n")

    def redact_json(self, value: Any, *, indent: int | None = None) -> str:
        return json.dumps(redact_values(value, self.redact), indent=indent, ensure_ascii=False)

    def _log(self, stage: str) -> IO[str]:
        if stage not in self._logs:
            make_private_directory(self.path / "logs")
            self._logs[stage] = self._open(f"logs/{stage}.log")
        return self._logs[stage]

    def _open(self, relative: str) -> IO[str]:
        # Line buffered: the record of a killed run has every event it emitted.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.fdopen(os.open(self.path / relative, flags, PRIVATE), "a", buffering=1)

    def _write(self, relative: str, text: str) -> None:
        write_atomic(self.path / relative, text, mode=PRIVATE)


def redact_values(value: Any, redact: Redactor) -> Any:
    """Mask the values: masking JSON text could miss an escaped secret or break a quote."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redact_values(item, redact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_values(item, redact) for item in value]
    return value
