"""The manifest of one backup: what it contains, of which cluster, and how that is proven. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from talops.errors import TalopsError

FORMAT = 1
_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Kind(_Part):
    count: int
    hash: str


class Snapshot(_Part):
    """The plain database, with the digest that etcd puts at its end. `survivor`: of a member that
    was left of a lost majority; `copied`: its file, which has no digest.
    """

    size: int
    sha256: str
    revision: int
    revisions: int
    keys: int
    storage_version: str
    copied: bool = False
    survivor: bool = False


class Sealed(_Part):
    """The encrypted file, as it is stored."""

    size: int
    sha256: str
    recipients: tuple[str, ...]


class Reference(_Part):
    """A file of the repository: it is not part of the backup, its hash is."""

    file: str
    sha256: str


class StateReference(_Part):
    name: str
    serial: int
    lineage: str
    md5: str


class States(_Part):
    """Where the states of OpenTofu were; `unread` says why none are listed."""

    place: str
    states: tuple[StateReference, ...] = ()
    unread: str = ""


class Versions(_Part):
    talos: str
    kubernetes: str
    etcd: str
    talops: str


class Manifest(_Part):
    """`cluster_id` is the fingerprint of the id; `source` is the control plane that was read."""

    format: int
    id: str
    cluster: str
    cluster_id: str
    created: datetime
    seconds: float
    source: str
    snapshot: Snapshot
    sealed: Sealed
    kinds: dict[str, Kind]
    inventory: tuple[Reference, ...]
    secrets: Reference
    states: States
    versions: Versions

    def as_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def age(self, now: datetime) -> timedelta:
        return now - self.created


@dataclass(frozen=True)
class Backup:
    """`problem` says why it cannot be used; found without reading the encrypted file."""

    id: str
    manifest: Manifest | None
    problem: str = ""

    @property
    def usable(self) -> bool:
        return not self.problem


def new_id(created: datetime, sha256: str) -> str:
    """In order of time when sorted by name."""
    return f"{created.astimezone(UTC):%Y%m%dT%H%M%SZ}-{sha256[:8]}"


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def parse_manifest(content: dict[str, Any], where: str) -> Manifest:
    if content.get("format") != FORMAT:
        raise TalopsError(
            f"this manifest has format {content.get('format')!r}; this talops reads {FORMAT}",
            where=where,
            hint="use the version of talops that made this backup, or a newer one",
        )
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place, why = ".".join(map(str, first["loc"])), first["msg"]
        raise TalopsError(f"the manifest is damaged: {place}: {why}", where=where) from None
