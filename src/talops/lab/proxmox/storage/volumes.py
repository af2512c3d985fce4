"""Volumes, indexed by storage and by owner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from talops.lab.proxmox.store import Table

if TYPE_CHECKING:
    from talops.lab.proxmox.store import Store


@dataclass(frozen=True)
class Volume:
    """`used` is its space on the storage; `file` contains its first bytes, if it has any."""

    volid: str
    node: str  # empty on shared storages
    content: str
    format: str
    size: int
    used: int = 0
    vmid: int = 0
    ctime: int = 0
    file: str = ""
    base: str = ""

    @property
    def storage(self) -> str:
        return self.volid.split(":", 1)[0]

    @property
    def key(self) -> str:
        return f"{self.node}|{self.volid}"

    @property
    def path(self) -> Path | None:
        return Path(self.file) if self.file else None


class Volumes(Table[Volume]):
    def __init__(self, store: Store) -> None:
        super().__init__(store, "volume", lambda body: Volume(**body), vars)
        self._places: dict[tuple[str, str], dict[str, Volume]] = {}
        self._owners: dict[int, dict[str, Volume]] = {}
        self._used: dict[tuple[str, str], int] = {}
        for volume in self.values():
            self._enter(volume)

    def on(self, node: str, storage: str) -> list[Volume]:
        return list(self._places.get((node, storage), {}).values())

    def used(self, node: str, storage: str) -> int:
        return self._used.get((node, storage), 0)

    def of_vm(self, vmid: int) -> list[Volume]:
        return list(self._owners.get(vmid, {}).values())

    def put(self, key: str, value: Volume) -> None:
        self._leave(key)
        super().put(key, value)
        self._enter(value)

    def drop(self, key: str) -> None:
        self._leave(key)
        super().drop(key)

    def _enter(self, volume: Volume) -> None:
        place = (volume.node, volume.storage)
        self._places.setdefault(place, {})[volume.key] = volume
        self._owners.setdefault(volume.vmid, {})[volume.key] = volume
        self._used[place] = self._used.get(place, 0) + volume.used

    def _leave(self, key: str) -> None:
        volume = self.get(key)
        if volume is None:
            return
        place = (volume.node, volume.storage)
        del self._places[place][key]
        del self._owners[volume.vmid][key]
        self._used[place] -= volume.used
