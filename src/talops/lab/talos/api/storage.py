"""The disk calls, in maintenance mode too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.lab.talos.call import Api
from talops.talos.wire import storage_pb2

if TYPE_CHECKING:
    from google.protobuf.empty_pb2 import Empty


class StorageApi(Api):
    """storage.StorageService."""

    SERVICE = "storage.StorageService"

    async def disks(self, _: Empty) -> storage_pb2.Disks:
        kind = storage_pb2.Disk
        system = self.node.store.installation().disk
        return storage_pb2.Disks(
            disks=[
                kind(
                    size=device.size,
                    model=device.model,
                    device_name=device.path,
                    name=device.name,
                    serial=device.serial,
                    type=kind.CD if device.cdrom else kind.HDD,
                    subsystem="/sys/class/block",
                    system_disk=device.path == system,
                    readonly=device.readonly,
                )
                for device in self.node.devices
            ]
        )

    async def block_device_wipe(
        self, request: storage_pb2.BlockDeviceWipeRequest
    ) -> storage_pb2.BlockDeviceWipe:
        known = {device.name for device in self.node.devices}
        system = self.node.store.installation().disk.removeprefix("/dev/")
        for device in request.devices:
            if device.device not in known:
                text = f'blockdevice "{device.device}" not found'
                raise GRPCError(Status.NOT_FOUND, text)
            if device.device == system:
                text = f'blockdevice "{device.device}" is in use by volume "STATE"'
                raise GRPCError(Status.FAILED_PRECONDITION, text)
        return storage_pb2.BlockDeviceWipe()
