"""The record of the bootstrap: etcd is bootstrapped once in a cluster's life, wherever talops runs.

Two files. The private one in `.talops` is the diary of this directory: what is about to happen to
etcd, and the snapshot that it was restored from. The other one is committed beside the secrets: a
clone of the repository on another machine knows that the cluster exists.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

RECORD = ".talops/bootstrap.json"
COMMITTED = "talos/bootstrap.json"
PUBLIC = 0o644


def write(root: Path, state: str, cluster_id: str, node: str, snapshot: str | None = None) -> None:
    """Record what is about to happen to etcd; `state` is "intended" or "founded"."""
    content: dict[str, object] = {
        "version": 1,
        "state": state,
        "cluster_id": cluster_id,
        "node": node,
        "time": _now(),
        **({"snapshot": snapshot} if snapshot else {}),
    }
    write_atomic(root / RECORD, json.dumps(content, indent=2) + "\n", mode=PRIVATE)


def commit(root: Path, cluster_id: str, node: str) -> None:
    """Record in the repository that this cluster was bootstrapped."""
    content = {"version": 1, "cluster": fingerprint(cluster_id), "node": node, "time": _now()}
    write_atomic(root / COMMITTED, json.dumps(content, indent=2) + "\n", mode=PUBLIC)


def fingerprint(cluster_id: str) -> str:
    """The cluster in a public file: its id itself is one half of its discovery."""
    return f"sha256:{hashlib.sha256(cluster_id.encode()).hexdigest()}"


def founded_here(root: Path, cluster_id: str) -> bool:
    """Whether the diary of this directory says so; an unreadable record is not "no"."""
    content = _content(root / RECORD, "cluster_id", "state")
    return content.get("state") == "founded" and content["cluster_id"] == cluster_id


def founded_in_repository(root: Path, cluster_id: str) -> bool:
    return _content(root / COMMITTED, "cluster").get("cluster") == fingerprint(cluster_id)


def any_founding(root: Path) -> bool:
    """Whether either record names a cluster, this one or an earlier one with its name."""
    diary = _content(root / RECORD, "cluster_id", "state")
    return diary.get("state") == "founded" or bool(_content(root / COMMITTED, "cluster"))


def exists(root: Path) -> bool:
    """Whether there is a record, even one that says what was only intended."""
    return (root / RECORD).exists() or (root / COMMITTED).exists()


def read_snapshot(root: Path) -> str | None:
    """SHA-256 of the snapshot that etcd was last restored from, or was about to be."""
    found = _content(root / RECORD, "cluster_id", "state").get("snapshot")
    return str(found) if found else None


def _content(path: Path, *required: str) -> dict[str, Any]:
    """Empty if the file does not exist."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {**{name: content[name] for name in required}, **content}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TalopsError(
            f"the bootstrap record cannot be read: {error}",
            where=str(path),
            hint="check the members with talops talos etcd members; then remove the file",
        ) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
