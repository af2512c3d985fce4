"""What storages can do with a volume: snapshots, linked clones, templates."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.proxmox.storage.storages import Storages
    from talops.lab.proxmox.storage.volumes import Volume

IMAGES = {
    "snapshot": {"current": "qcow2", "snap": "qcow2"},
    "clone": {"base": "qcow2 raw vmdk"},
    "template": {"current": "qcow2 raw vmdk"},
    "copy": {"base": "qcow2 raw vmdk", "current": "qcow2 raw vmdk", "snap": "qcow2"},
}
BLOCKS = {
    "snapshot": {"current": "raw"},
    "clone": {"base": "raw", "snap": "raw"},
    "template": {"current": "raw"},
    "copy": {"base": "raw", "current": "raw", "snap": "raw"},
}
# By type of storage and feature: the formats that have it, for a plain volume, a base of clones and
# a snapshot. `volume_has_feature` of each storage plugin is the source.
FEATURES: dict[str, dict[str, dict[str, str]]] = {
    "lvm": {"copy": {"base": "raw qcow2", "current": "raw qcow2", "snap": "qcow2"}},
    "lvmthin": BLOCKS,
    "rbd": BLOCKS,
    "zfspool": {
        "snapshot": {"current": "raw", "snap": "raw"},
        "clone": {"base": "raw"},
        "template": {"current": "raw"},
        "copy": {"base": "raw", "current": "raw"},
    },
}


def is_base(volume: Volume) -> bool:
    return bool(re.search(r"[:/]base-\d+-[^/]*$", volume.volid))


def has(storages: Storages, feature: str, volume: Volume, snapshot: str = "") -> bool:
    """Whether the storage can do that with the volume, or with its snapshot."""
    kind = storages.get(volume.storage)["type"]
    state = "snap" if snapshot else "base" if is_base(volume) else "current"
    formats = FEATURES.get(kind, IMAGES).get(feature, {}).get(state, "")
    return volume.format in formats.split()
