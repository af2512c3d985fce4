"""The checkpoint: what the last runs did, for people to read. Never used as the actual state."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """The last result of a stage."""

    status: str
    run: str
    at: str


@dataclass(frozen=True)
class Diary:
    """Written after every stage, so that a killed run can be distinguished from a finished one."""

    run: str | None = None
    command: str | None = None
    inventory: Mapping[str, str] = field(default_factory=dict)
    stages: Mapping[str, Entry] = field(default_factory=dict)
    finished: bool = True
    problem: str | None = None

    def changed_files(self, inventory: Mapping[str, str]) -> tuple[str, ...]:
        """The inventory files that changed since the last run; empty before the first run."""
        if not self.run:
            return ()
        names = sorted({*self.inventory, *inventory})
        return tuple(n for n in names if self.inventory.get(n) != inventory.get(n))

    def begin(self, run: str, command: str, inventory: Mapping[str, str]) -> Diary:
        return replace(
            self, run=run, command=command, inventory=dict(inventory), finished=False, problem=None
        )

    def stage(self, name: str, status: str) -> Diary:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(self, stages={**self.stages, name: Entry(status, self.run or "", now)})

    def end(self) -> Diary:
        return replace(self, finished=True)

    def save(self, path: Path) -> None:
        data = {"format": FORMAT, **asdict(self)}
        del data["problem"]
        write_atomic(path, json.dumps(data, indent=2) + "\n", mode=PRIVATE)


def load(path: Path) -> Diary:
    """The checkpoint at `path`; a damaged file gives an empty checkpoint with a `problem`."""
    try:
        data = json.loads(path.read_bytes())
        written = data["format"]
    except FileNotFoundError:
        return Diary()
    except (OSError, ValueError, TypeError, KeyError) as error:
        return Diary(problem=f"the checkpoint cannot be read; starting a new one: {error!r}")
    if written > FORMAT:
        raise TalopsError(
            f"written by a newer talops (format {written}; this version supports {FORMAT})",
            where=str(path),
            hint="upgrade talops, or remove the file; only history is lost",
        )
    return _from(data)


def _from(data: dict[str, Any]) -> Diary:
    try:
        stages = {name: Entry(**entry) for name, entry in data["stages"].items()}
        return Diary(data["run"], data["command"], data["inventory"], stages, data["finished"])
    except (KeyError, TypeError, AttributeError) as error:
        return Diary(problem=f"the checkpoint cannot be read; starting a new one: {error!r}")


def fingerprint(files: Iterable[Path]) -> dict[str, str]:
    """File name → SHA-256; a file that does not exist has no entry."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.exists()
    }
