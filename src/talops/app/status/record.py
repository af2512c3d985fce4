"""When `talops drift` last compared everything, and whether it found differences."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.app.status.model import Comparison
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

RECORD = ".talops/drift.json"


def write_comparison(root: Path, *, differs: bool, now: datetime | None = None) -> None:
    at = (now or datetime.now(UTC)).isoformat(timespec="seconds")
    write_atomic(root / RECORD, json.dumps({"at": at, "differs": differs}) + "\n", mode=PRIVATE)


def read_comparison(root: Path) -> Comparison | None:
    """None if there was none, or if its record is not readable: it is only an age."""
    try:
        content = json.loads((root / RECORD).read_text(encoding="utf-8"))
        return Comparison(datetime.fromisoformat(content["at"]), "drift", bool(content["differs"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
