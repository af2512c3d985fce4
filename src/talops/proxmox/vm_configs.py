"""The configs of VMs as Proxmox has them now, and the disks in them."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from talops.proxmox.answers import MissingError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from talops.proxmox.client import Client

_SLOT = re.compile(r"(scsi|virtio|sata|ide)\d+")
_NOT_A_DISK = re.compile(r"media=cdrom|cloudinit|^none\b")
AT_ONCE = 8


async def vm_configs(
    client: Client, wanted: Collection[int | None], names: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The configs of these VMs, or of all where any VMID will do, with `vmid` and `node`.

    The list of VMs is seconds old and incomplete, so it is used only for the VMIDs, and to leave
    out VMs that certainly have none of these `names`.
    """
    listed = await client.get("cluster/resources", type="vm")
    rows = [vm for vm in listed if vm.get("type", "qemu") == "qemu"]
    rows = [
        vm
        for vm in rows
        if None in wanted or vm["vmid"] in wanted or (names and vm.get("name", "") in {"", *names})
    ]
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(vm_id: int, node: str) -> dict[str, Any] | None:
        async with gate:
            try:
                config = await client.get(f"nodes/{node}/qemu/{vm_id}/config")
            except MissingError:
                return None  # removed since it was listed
        return {**config, "vmid": vm_id, "node": node}

    found = await asyncio.gather(*(read(vm["vmid"], vm["node"]) for vm in rows))
    return [config for config in found if config is not None]


def disk_slots(config: Mapping[str, Any]) -> frozenset[str]:
    """Slots of the disks in a VM's config, without CD-ROM and cloud-init drives."""
    return frozenset(
        key
        for key, value in config.items()
        if _SLOT.fullmatch(key) and not _NOT_A_DISK.search(str(value))
    )
