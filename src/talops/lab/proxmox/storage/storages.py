"""Storages: their content types, volume names and free space."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage.names import FILE_TYPES
from talops.lab.proxmox.vm.drives import GIB

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.faults import Faults
    from talops.lab.proxmox.storage.volumes import Volume, Volumes
    from talops.lab.proxmox.store import Document, Table

ALWAYS_SHARED = frozenset({"nfs", "cifs", "rbd", "cephfs", "iscsi", "pbs"})
DEFAULT_SIZE = 200 * GIB
ROUNDED = {"lvm": 4 << 20, "lvmthin": 4 << 20, "zfspool": 1 << 20}
FOLDERS = {
    "iso": "template/iso",
    "vztmpl": "template/cache",
    "import": "import",
    "snippets": "snippets",
}
# In listings; a volume read by name is `raw`.
FORMATS = {"iso": "iso", "snippets": "snippet"}


class Storages:
    """The storage configuration and the volumes on it."""

    def __init__(
        self,
        config: Table[Document],
        capacity: Table[Document],
        volumes: Volumes,
        *,
        root: Path,
        faults: Faults,
        host: str,
    ) -> None:
        self.config, self.capacity, self.volumes = config, capacity, volumes
        self._root, self._faults, self._host = root, faults, host

    def get(self, storage: str) -> Document:
        found = self.config.get(storage)
        if found is None:
            raise failed(f"storage '{storage}' does not exist")
        return found

    def on_node(self, storage: str, node: str) -> Document:
        """The storage's configuration, if it is usable on that node."""
        found = self.get(storage)
        if found.get("disable"):
            raise failed(f"storage '{storage}' is disabled")
        if not self.reaches(storage, node):
            raise failed(f"storage '{storage}' is not available on node '{node}'")
        return found

    def reaches(self, storage: str, node: str) -> bool:
        """Whether the storage exists for that node; a disabled one does, too."""
        nodes = split_list(str(self.get(storage).get("nodes", "")))
        return not nodes or node in nodes

    def shared(self, storage: str) -> bool:
        found = self.get(storage)
        return bool(found.get("shared")) or found["type"] in ALWAYS_SHARED

    def file_based(self, storage: str) -> bool:
        return self.get(storage)["type"] in FILE_TYPES

    def need_content(self, storage: str, node: str, content: str) -> None:
        found = self.on_node(storage, node)
        if content not in str(found.get("content", "")).split(","):
            raise failed(f"storage '{storage}' does not support content-type '{content}'")

    # -- space ---------------------------------------------------------------------------------

    def total(self, storage: str) -> int:
        entry = self.capacity.get(storage)
        return int(entry["bytes"]) if entry else DEFAULT_SIZE

    def used(self, storage: str, node: str) -> int:
        return self.volumes.used("" if self.shared(storage) else node, storage)

    def status(self, storage: str, node: str) -> dict[str, Any]:
        found = self.get(storage)
        total, used = self.total(storage), self.used(storage, node)
        if self._faults.find("storage-full", host=self._host, node=node, storage=storage):
            used = total
        enabled = 0 if found.get("disable") else 1
        return {
            "type": found["type"],
            "content": found.get("content", ""),
            "shared": int(self.shared(storage)),
            "enabled": enabled,
            "active": enabled,
            "total": total,
            "used": min(used, total),
            "avail": max(total - used, 0),
        }

    def reserve(self, storage: str, node: str, size: int, name: str) -> None:
        """Refuse, with the error of that storage type, if `size` bytes do not fit."""
        if self.status(storage, node)["avail"] >= size:
            return
        found = self.get(storage)
        kind = found["type"]
        if kind == "zfspool":
            raise failed(f"zfs error: cannot create '{found.get('pool')}/{name}': out of space")
        if kind == "lvmthin":
            pool = f"{found.get('vgname')}/{found.get('thinpool')}"
            raise failed(
                f"lvcreate '{found.get('vgname')}/{name}' error:   Cannot create new thin volume, "
                f"free space in thin pool {pool} reached threshold."
            )
        if kind == "lvm":
            raise failed(
                f"lvcreate '{found.get('vgname')}/{name}' error:   Volume group "
                f'"{found.get("vgname")}" has insufficient free space'
            )
        raise failed(f"unable to create image: {name}: No space left on device")

    # -- volumes -------------------------------------------------------------------------------

    def find(self, volid: str, node: str) -> Volume | None:
        storage = volid.split(":", 1)[0]
        if storage not in self.config:
            return None
        where = "" if self.shared(storage) else node
        return self.volumes.get(f"{where}|{volid}")

    def volume(self, volid: str, node: str) -> Volume:
        found = self.find(volid, node)
        if found is None:
            entry = self.get(volid.split(":", 1)[0])
            if entry["type"] in {"lvm", "lvmthin"}:
                place = f"{entry.get('vgname')}/{volid.split(':', 1)[1]}"
                raise failed(f"no such logical volume {place}")
            raise failed(f"volume '{volid}' does not exist")
        return found

    def listing(self, storage: str, node: str) -> list[Volume]:
        where = "" if self.shared(storage) else node
        return self.volumes.on(where, storage)

    def of_vm(self, vmid: int, node: str) -> list[Volume]:
        return [v for v in self.volumes.of_vm(vmid) if v.node in {"", node}]

    def rounded(self, storage: str, size: int) -> int:
        """The size that the storage really allocates: LVM in extents, ZFS in MiB."""
        unit = ROUNDED.get(self.get(storage)["type"], 1)
        return -(-size // unit) * unit

    def thick(self, storage: str) -> bool:
        found = self.get(storage)
        return found["type"] == "lvm" or (found["type"] == "zfspool" and not found.get("sparse"))

    def folder(self, storage: str, node: str) -> Path:
        """The lab's directory for this storage's files."""
        where = "shared" if self.shared(storage) else node
        return self._root / where / storage

    def free_name(self, storage: str, node: str, vmid: int, format_: str, *, base: str = "") -> str:
        """The first free `vm-ID-disk-N` there, as a volume id."""
        taken = {
            int(match[1])
            for volume in self.of_vm(vmid, node)
            if volume.storage == storage
            and (match := re.search(rf"(?:vm|base)-{vmid}-disk-(\d+)(?:\.\w+)?$", volume.volid))
        }
        number = next(n for n in range(10_000) if n not in taken)
        return self.name(storage, vmid, f"vm-{vmid}-disk-{number}", format_, base=base)

    def name(self, storage: str, vmid: int, name: str, format_: str, *, base: str = "") -> str:
        if self.file_based(storage):
            own = f"{vmid}/{name}.{format_}"
            return f"{storage}:{base}/{own}" if base else f"{storage}:{own}"
        if base and self.get(storage)["type"] == "zfspool":
            return f"{storage}:{base}/{name}"
        return f"{storage}:{name}"

    def default_format(self, storage: str, wanted: str | None = None) -> str:
        if not self.file_based(storage):
            return "raw"
        return wanted or "raw"

    def host_path(self, volume: Volume) -> str:
        """The path as the host's own tools would show it."""
        return self.path_of(volume.volid, volume.content)

    def path_of(self, volid: str, content: str) -> str:
        storage, name = volid.split(":", 1)
        found = self.get(storage)
        kind = found["type"]
        if kind in FILE_TYPES:
            root = found.get("path") or f"/mnt/pve/{storage}"
            if content in FOLDERS:
                return f"{root}/{FOLDERS[content]}/{name.split('/')[-1]}"
            return f"{root}/images/{name}"
        if kind == "zfspool":
            return f"/dev/zvol/{found.get('pool')}/{name.split('/')[-1]}"
        return f"/dev/{found.get('vgname', storage)}/{name}"

    def remove(self, volume: Volume) -> None:
        users = [v.volid for v in self.volumes.values() if v.base == volume.volid]
        if users:
            raise failed(
                f"base volume '{volume.volid.split(':', 1)[1]}' is still in use by linked clones"
            )
        if volume.path:
            volume.path.unlink(missing_ok=True)
        self.volumes.drop(volume.key)
