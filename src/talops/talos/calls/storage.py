"""The disks of a node; these calls answer in maintenance mode too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.empty_pb2 import Empty

from talops.talos.answers import name_of
from talops.talos.wire import storage_pb2
from talops.talos.wire.storage_grpc import StorageServiceStub

if TYPE_CHECKING:
    from talops.talos.calling import Caller

WIPE_TIMEOUT = 600.0  # zeroes are written to the whole device


@dataclass(frozen=True)
class Disk:
    """A disk as an installer sees it; `device` is what `install.disk` takes."""

    device: str
    size: int
    model: str
    serial: str
    wwid: str
    uuid: str
    type: str
    bus_path: str
    system: bool
    readonly: bool


class StorageCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = StorageServiceStub(caller.link)

    async def disks(self) -> list[Disk]:
        got = await self._caller.one(self._stub.Disks, Empty(), safe=True)
        return [_disk(disk) for disk in got.disks]

    async def wipe(self, *devices: str, zeroes: bool = False) -> None:
        """Wipe block devices; Talos refuses those that are in use."""
        method = storage_pb2.BlockDeviceWipeDescriptor
        request = storage_pb2.BlockDeviceWipeRequest(
            devices=[
                method(device=name, method=method.ZEROES if zeroes else method.FAST)
                for name in devices
            ]
        )
        await self._caller.one(self._stub.BlockDeviceWipe, request, timeout=WIPE_TIMEOUT)


def _disk(disk: Any) -> Disk:
    return Disk(
        device=disk.device_name,
        size=disk.size,
        model=disk.model,
        serial=disk.serial,
        wwid=disk.wwid,
        uuid=disk.uuid,
        type=name_of(storage_pb2.Disk.DiskType, disk.type).lower(),
        bus_path=disk.bus_path,
        system=disk.system_disk,
        readonly=disk.readonly,
    )
