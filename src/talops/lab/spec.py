"""What a lab is made of: hosts, nodes, storages, bridges, devices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DeviceSpec(_Part):
    """A PCI device; the defaults are a graphics card that Talos has drivers for."""

    id: str = "0000:01:00.0"
    iommugroup: int = 14
    class_: str = Field(default="0x030000", alias="class")
    vendor: str = "0x10de"
    device: str = "0x2204"
    subsystem_vendor: str = "0x1458"
    subsystem_device: str = "0x403b"
    vendor_name: str = "NVIDIA Corporation"
    device_name: str = "GA102 [GeForce RTX 3090]"
    subsystem_vendor_name: str = "Gigabyte Technology Co., Ltd"


class NodeSpec(_Part):
    name: str
    cores: int = 32
    memory_gib: int = 128
    bridges: tuple[str, ...] = ("vmbr0",)
    devices: tuple[DeviceSpec, ...] = (
        DeviceSpec(),
        DeviceSpec.model_validate(
            {
                "id": "0000:01:00.1",
                "class": "0x040300",
                "device": "0x1aef",
                "device_name": "GA102 High Definition Audio Controller",
            }
        ),
    )


class StorageSpec(_Part):
    """A storage that exists from the start; `size_gib` is per node unless it is shared."""

    storage: str
    type: str
    content: str
    size_gib: int = 500
    shared: bool = False
    nodes: tuple[str, ...] = ()
    options: dict[str, str] = {}


STORAGES = (
    StorageSpec(
        storage="local",
        type="dir",
        content="iso,vztmpl,backup,import,snippets",
        size_gib=100,
        options={"path": "/var/lib/vz"},
    ),
    StorageSpec(
        storage="local-lvm",
        type="lvmthin",
        content="images,rootdir",
        options={"vgname": "pve", "thinpool": "data"},
    ),
)


class HypervisorSpec(_Part):
    """One Proxmox installation: a standalone host, or a cluster of several nodes."""

    name: str
    nodes: tuple[NodeSpec, ...]
    storages: tuple[StorageSpec, ...] = STORAGES


class NasPoolSpec(_Part):
    """A ZFS pool; `used_gib` is the space in use from the start."""

    name: str = "tank"
    size_gib: float = 1000
    used_gib: float = 0


class TrueNasSpec(_Part):
    """`version` determines the API: JSON-RPC since 25.04, REST until 25.10."""

    version: str = Field(default="25.10.1", pattern=r"^\d{2}\.\d{2}(\.\d+)*$")
    pools: tuple[NasPoolSpec, ...] = (NasPoolSpec(),)


class LabSpec(_Part):
    """How the lab behaves in time.

    `pace` is the duration of one task step in seconds; 0 is as fast as possible. `patience`
    scales how long a task waits for a lock before it fails: 1 is what Proxmox waits. `timing`
    scales how long Talos takes to boot and install, and TrueNAS to accept logins again after too
    many: 1 is modest hardware. `reservations` are the lab's DHCP: MAC → address. `discovery` is
    whether Talos nodes can reach a discovery service. `workloads` is whether pods run, with a real
    controller manager and scheduler; `apiservers` is how many control planes of a cluster run one.
    """

    proxmox: tuple[HypervisorSpec, ...] = (
        HypervisorSpec(name="pve", nodes=(NodeSpec(name="pve"),)),
    )
    pace: float = 0.0
    patience: float = 1.0
    timing: float = 0.1
    reservations: dict[str, str] = {}
    discovery: bool = True
    workloads: bool = False
    apiservers: Literal["every", "leader-only"] = "every"
    truenas: TrueNasSpec = TrueNasSpec()


def usual() -> LabSpec:
    """The default of `talops lab`: a tenth of the duration on modest hardware."""
    return LabSpec(pace=0.1)


def standalone(name: str) -> HypervisorSpec:
    return HypervisorSpec(name=name, nodes=(NodeSpec(name=name),))


def cluster(name: str, nodes: list[str]) -> HypervisorSpec:
    return HypervisorSpec(name=name, nodes=tuple(NodeSpec(name=node) for node in nodes))


def truenas_of(version: str, spec: TrueNasSpec) -> TrueNasSpec:
    """The same TrueNAS in another version."""
    try:
        return TrueNasSpec(version=version, pools=spec.pools)
    except ValidationError as error:
        raise TalopsError(
            f"{version!r} is not a version of TrueNAS", hint="write it like 24.10 or 25.04.2"
        ) from error


def read_spec(path: Path) -> LabSpec:
    try:
        return LabSpec.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise TalopsError(
            f"cannot read the lab's spec: {error.strerror}", where=str(path)
        ) from error
    except (ValidationError, ValueError) as error:
        raise TalopsError(
            f"not a lab spec: {error}", where=str(path), hint="see docs/lab.md for its keys"
        ) from error
