"""The drives of a VM: as the configuration wants them, as Proxmox tells them, as they are sent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from talops.lab.provider import options
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.lab.provider.api import Api
    from talops.lab.provider.values import Values

_SLOT = re.compile(r"(ide|sata|scsi|virtio)(\d+)")
# In the order in which they are sent.
_SENT = (
    "aio", "backup", "iops_rd", "iops_wr", "iops_rd_max", "iops_wr_max", "iothread", "queues",
    "serial", "ssd", "discard", "cache", "mbps_rd_max", "mbps_wr_max", "mbps_rd", "mbps_wr",
    "replicate",
)  # fmt: skip
_SPEEDS = {
    "iops_read": "iops_rd",
    "iops_read_burstable": "iops_rd_max",
    "iops_write": "iops_wr",
    "iops_write_burstable": "iops_wr_max",
    "read": "mbps_rd",
    "read_burstable": "mbps_rd_max",
    "write": "mbps_wr",
    "write_burstable": "mbps_wr_max",
}


@dataclass(frozen=True)
class Drive:
    volume: str
    options: dict[str, str] = field(default_factory=dict)
    format: str | None = None
    media: str | None = None
    size: int | None = None  # bytes
    import_from: str = ""

    @property
    def store(self) -> str:
        return self.volume.partition(":")[0] if ":" in self.volume else ""

    @property
    def path(self) -> str:
        return self.volume.partition(":")[2] if ":" in self.volume else self.volume

    def is_cloud_init(self, vmid: int) -> bool:
        return f"vm-{vmid}-cloudinit" in self.volume

    def is_owned_by(self, vmid: int) -> bool:
        return self.path.startswith((f"vm-{vmid}-", f"{vmid}/vm-{vmid}-"))

    def text(self) -> str:
        """A drive without options ends in a comma: the real provider sends it that way."""
        volume = f"{self.store}:0" if self.import_from else self.volume
        parts = [f"file={volume}"]
        parts += [f"import-from={self.import_from}"] if self.import_from else []
        parts += [f"format={self.format}"] if self.format else []
        parts += [f"media={self.media}"] if self.media else []
        parts += [f"size={self.size}"] if self.size is not None else []
        known = {k: self.options[k] for k in _SENT if self.options.get(k)}
        return ",".join([*parts, options.join(known)])


def parse(text: str) -> Drive:
    told = options.parse(text, "file")
    volume = told.pop("file", "")
    suffix = PurePosixPath(volume.partition(":")[2]).suffix
    return Drive(
        volume=volume,
        format=told.pop("format", None) or suffix.removeprefix(".") or None,
        media=told.pop("media", None),
        size=options.size(told.pop("size")) if "size" in told else None,
        options=told,
    )


def present(config: Values) -> dict[str, Drive]:
    """Every drive of a VM's configuration; EFI and TPM disks are no drives."""
    found = {key: parse(str(text)) for key, text in config.items() if _SLOT.fullmatch(key)}
    return {key: found[key] for key in sorted(found, key=_order)}


def _order(slot: str) -> tuple[str, int]:
    match = _SLOT.fullmatch(slot)
    assert match is not None
    return match[1], int(match[2])


def wanted(disks: Iterable[Values]) -> dict[str, Drive]:
    return {disk["interface"]: _wanted(disk) for disk in disks}


def _wanted(disk: Values) -> Drive:
    slot, store = disk["interface"], disk["datastore_id"] or ""
    if not _SLOT.fullmatch(slot):
        refuse(f"the disk interface {slot!r} is none of ide, sata, scsi and virtio with a number")
    if disk.get("file_id"):
        refuse(
            f"disk {slot}: file_id needs SSH to the node, which the lab's stand-in does not do",
            "Use import_from with a file of content type import.",
        )
    path = disk.get("path_in_datastore") or str(int(disk["size"]))
    return Drive(
        volume=f"{store}:{path}" if store else path,
        options=_wanted_options(slot, disk),
        format=disk.get("file_format") or None,
        size=int(disk["size"]) * options.GIB,
        import_from=disk.get("import_from") or "",
    )


def _wanted_options(slot: str, disk: Values) -> dict[str, str]:
    out = {
        "aio": disk["aio"],
        "backup": options.plain(disk["backup"]),
        "cache": disk["cache"],
        "discard": disk["discard"],
        "replicate": options.plain(disk["replicate"]),
        "serial": disk.get("serial") or "",
    }
    if not slot.startswith("virtio"):
        out["ssd"] = options.plain(disk["ssd"])
    if not slot.startswith(("sata", "ide")):
        out["iothread"] = options.plain(disk["iothread"])
    if disk.get("queues"):
        if not slot.startswith("scsi"):
            refuse(f"disk {slot}: queues are for SCSI disks only")
        out["queues"] = options.plain(disk["queues"])
    for speed in disk.get("speed") or []:
        out |= {key: options.plain(speed[name]) for name, key in _SPEEDS.items() if speed[name]}
    return out


async def blocks(
    api: Api, node: str, vmid: int, config: Values, current: list[Values]
) -> list[Values]:
    """The disk blocks of the state, those known before in their order.

    While there are any, a disk that somebody else attached stays invisible, as with the real one.
    """
    found = {
        slot: await _block(api, node, slot, drive)
        for slot, drive in present(config).items()
        if drive.volume != "none" and drive.media != "cdrom" and not drive.is_cloud_init(vmid)
    }
    if not current:
        return list(found.values())
    for disk in current:
        told = found.get(disk["interface"])
        if told is not None:
            told["import_from"] = disk.get("import_from") or ""
            told["file_id"] = disk.get("file_id") or ""
            told["size"] = told["size"] or disk.get("size")
    return [found[disk["interface"]] for disk in current if disk["interface"] in found]


async def _block(api: Api, node: str, slot: str, drive: Drive) -> Values:
    told = drive.options
    return {
        "aio": told.get("aio", "io_uring"),
        "backup": options.flag(told, "backup", absent=True),
        "cache": told.get("cache", "none"),
        "datastore_id": drive.store,
        "discard": told.get("discard", "ignore"),
        "file_format": drive.format or await volume_format(api, node, drive.volume),
        "file_id": "",
        "import_from": "",
        "interface": slot,
        "iothread": options.flag(told, "iothread", absent=False),
        "path_in_datastore": drive.path,
        "queues": int(told.get("queues", 0)),
        "replicate": options.flag(told, "replicate", absent=True),
        "serial": told.get("serial", ""),
        "size": (drive.size or 0) // options.GIB,
        "speed": _speed(told),
        "ssd": options.flag(told, "ssd", absent=False),
    }


def _speed(told: dict[str, str]) -> list[Values]:
    if not told.keys() & set(_SPEEDS.values()):
        return []
    return [{name: int(told.get(key, 0)) for name, key in _SPEEDS.items()}]


async def volume_format(api: Api, node: str, volume: str) -> str | None:
    """What the configuration leaves out because it is the storage's default."""
    store, separator, _ = volume.partition(":")
    if not separator:
        return None
    try:
        name = quote(volume, safe=":@")
        data: Any = await api.get(f"/nodes/{node}/storage/{store}/content/{name}")
    except ApiError as error:
        if error.gone:
            return None
        raise
    return str(data["format"]) if data and data.get("format") else None


def merged(current: Drive, plan: Drive) -> Drive:
    """`current` with the options of the plan."""
    return replace(current, options={**current.options, **plan.options})
