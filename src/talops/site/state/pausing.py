"""A pause: disruptive changes of this cluster do not start until it is resumed.

It is recorded beside shared states, so that it holds for every clone, and otherwise in `.talops`.
"""

from __future__ import annotations

import getpass
import json
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from talops.site.founding.shared import SharedRecord
    from talops.site.site import ClosedSite

RECORD = ".talops/paused.json"
SUFFIX = ".pause"
OUTPUT = "paused"


class UnreadablePauseError(TalopsError):
    """The record exists; only `resume` gets past it."""


@dataclass(frozen=True)
class Pause:
    by: str
    since: str
    reason: str = ""

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"paused by {self.by} since {self.since}{why}"


def new_pause(reason: str) -> Pause:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Pause(f"{getpass.getuser()}@{socket.gethostname()}", now, reason)


async def read_pause(site: ClosedSite) -> Pause | None:
    """None if the cluster is not paused; a record that cannot be read is an error."""
    shared = _shared(site)
    text = _local(site.root) if shared is None else await shared.read()
    if not text:
        return None
    try:
        return Pause(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise UnreadablePauseError(
            f"the record of a pause cannot be read: {error}",
            where=place(site),
            hint="talops resume removes it",
        ) from error


async def write_pause(site: ClosedSite, pause: Pause) -> None:
    await _write(site, json.dumps(asdict(pause)))


async def remove_pause(site: ClosedSite) -> None:
    await _write(site, "")


def place(site: ClosedSite) -> str:
    """Where the record is, for messages."""
    return RECORD if site.cluster.state.kind == "local" else f"{site.cluster.name}{SUFFIX}"


async def _write(site: ClosedSite, text: str) -> None:
    shared = _shared(site)
    if shared is not None:
        await shared.write(text)
    elif text:
        write_atomic(site.root / RECORD, text + "\n", mode=PRIVATE)
    else:
        (site.root / RECORD).unlink(missing_ok=True)


def _shared(site: ClosedSite) -> SharedRecord | None:
    if site.cluster.state.kind == "local":
        return None
    from talops.site.founding.shared import SharedRecord
    from talops.site.state.backends import backend_of

    name = f"{site.cluster.name}{SUFFIX}"
    return SharedRecord(site.cluster.name, lambda: backend_of(site), name=name, output=OUTPUT)


def _local(root: Path) -> str:
    try:
        return (root / RECORD).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadablePauseError(
            f"the record of a pause cannot be read: {error}",
            where=RECORD,
            hint="talops resume removes it",
        ) from error
