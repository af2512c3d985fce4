"""A machine's disks as COSI resources."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from talops.lab.talos.machine.disks import pretty
from talops.lab.talos.resources import kinds
from talops.lab.talos.resources.store import Item, built, item
from talops.talos.wire import spec_block_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.lab.talos.machine.node import Node

# EPHEMERAL takes the rest of the disk; the boot partition is counted with META.
_VOLUMES = {"META": 2**30, "STATE": 100 * 2**20}
# Since 1.14 directories on EPHEMERAL are volumes that may be separate partitions.
_PROMOTABLE = {
    "ETCD": ("/var/lib/etcd", "system_u:object_r:etcd_data_t:s0"),
    "CRI": ("/var/lib/containerd", "system_u:object_r:containerd_state_t:s0"),
    "KUBELET": ("/var/lib/kubelet", "system_u:object_r:kubelet_state_t:s0"),
    "LOG": ("/var/log", "system_u:object_r:var_log_t:s0"),
}
_PROMOTABLE_SINCE = 14
_MOUNTED = {
    "STATE": ("/system/state", "system_u:object_r:system_state_t:s0"),
    "EPHEMERAL": ("/var", "system_u:object_r:ephemeral_t:s0"),
}
_MODE, _SECTOR = 0o700, 512
_MISSING, _READY = 2, 6
_PARTITION, _DIRECTORY = 0, 3
_TYPES = {_PARTITION: "partition", _DIRECTORY: "directory"}


def disks(node: Node) -> Iterator[Item]:
    for device in node.devices:
        fields: dict[str, Any] = {
            "size": device.size,
            "io_size": 512,
            "sector_size": 512,
            "readonly": device.readonly,
            "model": device.model,
            "serial": device.serial,
            "sub_system": "/sys/class/block",
            "transport": device.transport,
            "cdrom": device.cdrom,
            "dev_path": device.path,
            "pretty_size": device.pretty_size,
        }
        yield item(kinds.DISKS, device.name, spec_block_pb2.DiskSpec(**fields), fields)
        shown = {
            "dev_path": device.path,
            "type": "disk",
            "size": device.size,
            "pretty_size": device.pretty_size,
            "sector_size": _SECTOR,
            "io_size": _SECTOR,
            "name": "gpt" if device.path == node.store.installation().disk else "",
        }
        yield built(
            kinds.DISCOVERED_VOLUMES, device.name, "block.DiscoveredVolumeSpec", shown, shown
        )
    yield from _volumes(node)


def _volumes(node: Node) -> Iterator[Item]:
    """The partitions of the system disk; they are missing before the installation."""
    system = node.store.installation().disk
    if not system:
        for label in ("META", "STATE"):
            yield _volume(label, {"phase": _MISSING}, {"phase": "missing"})
        return
    name = system.removeprefix("/dev/")
    spec = spec_block_pb2.SystemDiskSpec(disk_id=name, dev_path=system)
    yield item(kinds.SYSTEM_DISK, "system-disk", spec, {"diskID": name, "devPath": system})
    whole = sum(device.size for device in node.devices if device.path == system)
    sizes = {**_VOLUMES, "EPHEMERAL": 0}
    if node.minor >= _PROMOTABLE_SINCE:
        for label in _PROMOTABLE:
            yield _volume(label, {"phase": _READY}, {"phase": "ready"}, kind=_DIRECTORY)
    for index, (label, fixed) in enumerate(sizes.items(), start=1):
        size, place = fixed or max(whole - sum(sizes.values()), 0), f"{system}{index}"
        fields = {
            "phase": _READY,
            "location": place,
            "parent_location": system,
            "partition_index": index,
            "size": size,
            "pretty_size": pretty(size),
        }
        yaml = {
            "phase": "ready",
            "location": place,
            "parentLocation": system,
            "partitionIndex": index,
            "size": size,
            "prettySize": pretty(size),
        }
        yield _volume(label, fields, yaml)
        yield _discovered(label, place, system, index, size)


def _volume(
    label: str, fields: dict[str, Any], yaml: dict[str, Any], kind: int = _PARTITION
) -> Item:
    target, security = (_MOUNTED | _PROMOTABLE).get(label, ("", ""))
    mount = {"target_path": target, "selinux_label": security, "file_mode": _MODE}
    shown = {
        "targetPath": target,
        "selinuxLabel": security,
        "projectQuotaSupport": False,
        "fileMode": _MODE,
    }
    built_item = built(
        kinds.VOLUMES,
        label,
        "block.VolumeStatusSpec",
        {**fields, "type": kind, **({"mount_spec": mount} if target else {})},
        {**yaml, "type": _TYPES[kind], **({"mountSpec": shown} if target else {})},
    )
    return dataclasses.replace(built_item, labels=(("talos.dev/system-volume", ""),))


def _discovered(label: str, place: str, disk: str, index: int, size: int) -> Item:
    name = place.removeprefix("/dev/")
    fields = {
        "size": size,
        "sector_size": _SECTOR,
        "io_size": _SECTOR,
        "name": "talosmeta" if label == "META" else "xfs",
        "label": "" if label == "META" else label,
        "partition_label": label,
        "partition_index": index,
        "type": "partition",
        "dev_path": place,
        "parent": disk.removeprefix("/dev/"),
        "parent_dev_path": disk,
        "pretty_size": pretty(size),
    }
    yaml = {
        "dev_path": place,
        "type": "partition",
        "partition_index": index,
        "parent": fields["parent"],
        "parent_dev_path": disk,
        "size": size,
        "pretty_size": pretty(size),
        "sector_size": _SECTOR,
        "io_size": _SECTOR,
        "name": fields["name"],
        "label": fields["label"],
        "partition_label": label,
    }
    return built(kinds.DISCOVERED_VOLUMES, name, "block.DiscoveredVolumeSpec", fields, yaml)
