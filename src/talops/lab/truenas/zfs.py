"""Pools with limited space and datasets with inherited properties: the part of ZFS in the API."""

from __future__ import annotations

import errno
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from talops.lab.proxmox.store import Store, Table
from talops.lab.truenas.errors import CallError, ValidationErrors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.lab.spec import NasPoolSpec

GIB = 1024**3
EMPTY = 96 * 1024  # the size of a new dataset
SLOP = 32  # the part of a pool that ZFS reserves: one of this many
OUT_OF_SPACE = "Failed to create dataset: out of space"
TOO_SMALL = "size is less than current used or reserved space"
DEFAULTS = {
    "compression": "lz4",
    "atime": "off",
    "sync": "standard",
    "recordsize": "128K",
    "deduplication": "off",
    "copies": "1",
    "exec": "on",
    "snapdir": "hidden",
    "checksum": "on",
    "readonly": "off",
    "acltype": "posix",
    "aclmode": "discard",
}


@dataclass(frozen=True)
class ZfsDataset:
    """`own` is what was written here, without children; `local` are properties set here."""

    name: str
    own: int = EMPTY
    quota: int = 0
    local: dict[str, str] = field(default_factory=dict)
    comments: str = ""


class Zfs:
    def __init__(
        self, file: Path, pools: tuple[NasPoolSpec, ...], is_full: Callable[[str], bool]
    ) -> None:
        self._store = Store(file)
        self._is_full = is_full
        self.pools = {pool.name: pool for pool in pools}
        self.datasets: Table[ZfsDataset] = Table(
            self._store, "dataset", lambda body: ZfsDataset(**body), asdict
        )
        for pool in pools:
            if pool.name not in self.datasets:
                local = {"compression": "lz4", "atime": "off"}
                used = EMPTY + int(pool.used_gib * GIB)
                self.datasets.put(pool.name, ZfsDataset(pool.name, used, local=local))
        self.commit()

    def commit(self) -> None:
        self._store.commit()

    def close(self) -> None:
        self._store.close()

    def size(self, pool: str) -> int:
        return int(self.pools[pool].size_gib * GIB)

    def used(self, name: str) -> int:
        """Including everything below."""
        rows = self.datasets.values()
        return sum(row.own for row in rows if row.name == name or row.name.startswith(f"{name}/"))

    def available(self, name: str) -> int:
        """The free space of the pool, or less if the quota of a parent is lower."""
        pool = name.split("/", maxsplit=1)[0]
        if self._is_full(pool):
            return 0
        size = self.size(pool)
        room = [size - size // SLOP - self.used(pool)]
        for above in ancestors(name):
            row = self.datasets.get(above)
            if row and row.quota:
                room.append(row.quota - self.used(above))
        return max(0, min(room))

    def value(self, name: str, prop: str) -> tuple[str, str]:
        """The value and where it comes from: LOCAL, INHERITED, DEFAULT."""
        for above in ancestors(name):
            row = self.datasets.get(above)
            if row and prop in row.local:
                return row.local[prop], "LOCAL" if above == name else "INHERITED"
        return DEFAULTS[prop], "DEFAULT"

    def create(self, made: ZfsDataset) -> None:
        parent = made.name.rpartition("/")[0]
        if self.available(parent) < EMPTY:
            raise CallError(OUT_OF_SPACE)
        self.datasets.put(made.name, made)

    def update(self, changed: ZfsDataset) -> None:
        if changed.quota and changed.quota < self.used(changed.name):
            raise ValidationErrors(("pool_dataset_update.quota", TOO_SMALL, errno.EINVAL))
        self.datasets.put(changed.name, changed)

    def write(self, name: str, count: int) -> None:
        """Store data; fails if the pool is full."""
        if count > self.available(name):
            raise CallError("No space left on device", errno.ENOSPC)
        row = self.datasets[name]
        self.datasets.put(name, replace(row, own=row.own + count))
        self.commit()


def ancestors(name: str) -> list[str]:
    """The dataset itself, then everything above it, up to the pool."""
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
