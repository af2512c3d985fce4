"""What real nodes of Talos 1.13.9 answered, as raw protobuf.

Four nodes (three control planes, one worker) ran the real machined, apid, trustd, etcd and
kubelet in container mode. Container mode cannot show install, reboot, upgrade, rollback, disks,
encryption, META, DHCP or NTP. The keys in the answers belong to a cluster that no longer exists.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("talos-1.13.9.jsonl.gz")


@dataclass(frozen=True)
class Exchange:
    """One call: which node, with which role, and everything that came back."""

    node: str  # controlplane, worker, maintenance
    auth: str  # admin, reader, none
    method: str
    request: bytes
    responses: tuple[bytes, ...]
    status: str
    message: str


@cache
def exchanges() -> tuple[Exchange, ...]:
    """All recorded exchanges, in the order in which they were made."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return tuple(
        Exchange(
            row["node"],
            row["auth"],
            row["method"],
            base64.b64decode(row["request"]),
            tuple(base64.b64decode(answer) for answer in row["responses"]),
            row["status"],
            row["message"],
        )
        for row in rows
    )
