"""The record of the bootstrap: whether etcd was bootstrapped from this directory."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

RECORD = ".talops/bootstrap.json"


def write(root: Path, state: str, cluster_id: str, node: str, snapshot: str | None = None) -> None:
    """Record what is about to happen to etcd; `state` is "intended" or "founded"."""
    content: dict[str, object] = {
        "version": 1,
        "state": state,
        "cluster_id": cluster_id,
        "node": node,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        **({"snapshot": snapshot} if snapshot else {}),
    }
    write_atomic(root / RECORD, json.dumps(content, indent=2) + "\n", mode=PRIVATE)


def read_record(path: Path) -> str | None:
    """The cluster that was bootstrapped from this directory; an unreadable record is not "none"."""
    content = _content(path)
    return str(content["cluster_id"]) if content.get("state") == "founded" else None


def read_snapshot(path: Path) -> str | None:
    """SHA-256 of the snapshot that etcd was last restored from, or was about to be."""
    found = _content(path).get("snapshot")
    return str(found) if found else None


def _content(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {"cluster_id": content["cluster_id"], "state": content["state"], **content}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TalopsError(
            f"the bootstrap record cannot be read: {error}",
            where=str(path),
            hint="check the members with talops talos etcd members; then remove the file",
        ) from error
