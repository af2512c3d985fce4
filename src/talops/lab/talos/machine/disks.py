"""The machine's disks under the names that Linux gives them, and Talos' ways to choose one."""

from __future__ import annotations

import dataclasses
import fnmatch
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.lab.machine import Disk, Machine

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20}
_UNITS |= {"gi": 2**30, "ti": 2**40}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "": operator.eq,
}
_SIZE = re.compile(r"\s*(>=|<=|>|<|==)?\s*([\d.]+)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class BlockDevice:
    """A disk as the node's resources show it."""

    name: str
    size: int
    serial: str
    model: str
    transport: str
    readonly: bool = False
    cdrom: bool = False

    @property
    def path(self) -> str:
        return f"/dev/{self.name}"

    @property
    def number(self) -> str:
        """Major and minor, as Linux gives them to SCSI and virtio disks and to CD drives."""
        if self.cdrom:
            return "11:0"
        major = 252 if self.name.startswith("vd") else 8
        return f"{major}:{16 * (ord(self.name[2]) - ord('a'))}"

    @property
    def pretty_size(self) -> str:
        return pretty(self.size)


def pretty(size: int) -> str:
    """As Talos shows sizes: decimal units, three figures."""
    rest, units = float(size), ["B", "kB", "MB", "GB", "TB"]
    while rest >= 1000 and len(units) > 1:  # noqa: PLR2004  (decimal units)
        rest /= 1000
        units.pop(0)
    return f"{rest:.3g} {units[0]}"


def block_devices(machine: Machine, *, renamed: bool = False) -> list[BlockDevice]:
    """`renamed` is the fault that a controller change causes: sda becomes vda and vice versa."""
    letters: dict[str, int] = {}
    found = []
    for disk in machine.disks:
        bus = "vd" if disk.slot.startswith("virtio") != renamed else "sd"
        index = letters.get(bus, 0)
        letters[bus] = index + 1
        found.append(_device(disk, f"{bus}{chr(ord('a') + index)}", bus))
    if machine.cdrom is not None:
        size = machine.cdrom.stat().st_size if machine.cdrom.exists() else 0
        found.append(BlockDevice("sr0", size, "", "QEMU DVD-ROM", "ata", readonly=True, cdrom=True))
    return found


def _device(disk: Disk, name: str, bus: str) -> BlockDevice:
    model = "" if bus == "vd" else "QEMU HARDDISK"
    serial = disk.serial or ("" if bus == "vd" else f"drive-{disk.slot}")
    return BlockDevice(name, disk.size, serial, model, "virtio")


def choose(install: Mapping[str, Any], devices: list[BlockDevice]) -> BlockDevice | None:
    """The install disk by path or by selector: the first match."""
    selector = install.get("diskSelector")
    for device in devices:
        if device.readonly:
            continue
        if install.get("disk") in {device.path, f"/dev/disk/by-id/{device.serial}"}:
            return device
        if selector and _matches(selector, device):
            return device
        if install.get("diskMatch") and _selected(str(install["diskMatch"]), device):
            return device
    return None


# The parts of a selecting expression that configs use, joined by "and".
_EQUAL = re.compile(r'disk\.(\w+) (==|!=) "(.*)"')
_LINKED = re.compile(r'"(.*)" in disk\.symlinks')
_GLOB = re.compile(r'glob\("(.*)", disk\.(\w+)\)')
_FLAG = re.compile(r"(!?)disk\.(\w+)")
_SIZED = re.compile(r"disk\.size (>=|<=|>|<|==) (\d+)u(?: \* (\w+))?")


def _selected(expression: str, device: BlockDevice) -> bool:
    return all(_holds(part.strip(), device) for part in expression.split("&&"))


def _holds(part: str, device: BlockDevice) -> bool:
    """An expression that the lab does not know selects nothing."""
    own: dict[str, Any] = {**dataclasses.asdict(device), "dev_path": device.path}
    own |= {"rotational": False, "wwid": "", "uuid": ""}
    if found := _EQUAL.fullmatch(part):
        return bool((own.get(found[1]) == found[3]) == (found[2] == "=="))
    if found := _LINKED.fullmatch(part):
        return found[1] == f"/dev/disk/by-id/{device.serial}"
    if found := _GLOB.fullmatch(part):
        return fnmatch.fnmatchcase(str(own.get(found[2], "")), found[1])
    if found := _SIZED.fullmatch(part):
        unit = _UNITS[(found[3] or "").lower().removesuffix("b")]
        return _COMPARE[found[1]](device.size, int(found[2]) * unit)
    if found := _FLAG.fullmatch(part):
        return bool(own.get(found[2])) != bool(found[1])
    return False


def _matches(selector: Mapping[str, Any], device: BlockDevice) -> bool:
    own = {"name": device.path, "serial": device.serial, "model": device.model}
    for key, wanted in selector.items():
        if key == "size":
            if not _size_matches(str(wanted), device.size):
                return False
        elif key in own and not fnmatch.fnmatchcase(own[key], str(wanted)):
            return False
    return True


def _size_matches(text: str, size: int) -> bool:
    found = _SIZE.fullmatch(text)
    if found is None:
        return False
    wanted = int(float(found[2]) * _UNITS[found[3].lower()])
    return _COMPARE[found[1] or ""](size, wanted)
