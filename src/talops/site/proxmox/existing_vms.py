"""What Proxmox has of the VMs of a plan: disks attached by others, VMs missing in the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.proxmox.answers import MissingError
from talops.proxmox.vm_configs import disk_slots, vm_configs
from talops.tofu.identity import read_config
from talops.tofu.plan import VM
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from talops.proxmox.client import Access, Client
    from talops.tofu.plan import Change

CREATION_SECONDS = 120
# The lock of a VM whose name, tags and disks are not set yet.
YOUNG = frozenset({"create", "clone"})


async def read_attached(access: Access, changes: Sequence[Change]) -> dict[int, frozenset[str]]:
    """The slots of every existing VM that a plan touches. A VM that Proxmox does not show is left
    out: a token without access to a VM gets the same response as for a VM that does not exist.
    """
    existing = {c.vm_id for c in changes if c.type == VM and c.before and c.vm_id is not None}
    configs = await read_configs(access, existing)
    return {vm_id: disk_slots(config) for vm_id, config in configs.items()}


async def read_configs(access: Access, vm_ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """VMID → config of the VMs that Proxmox shows."""
    if not vm_ids:
        return {}
    async with _client(access) as client:
        return {vm["vmid"]: vm for vm in await vm_configs(client, vm_ids)}


async def find_lost(access: Access, changes: Sequence[Change]) -> dict[str, str]:
    """Address → NODE/VMID of planned VMs that an earlier run began to create.

    A VMID that another VM uses is left out: its creation is refused, as it should be.
    """
    wanted = {change.vm_id for change in changes}
    async with _client(access) as client:

        async def whole() -> Ready[list[dict[str, Any]]] | NotYet:
            found = await vm_configs(client, wanted)
            young = [vm["vmid"] for vm in found if vm["vmid"] in wanted and vm.get("lock") in YOUNG]
            return NotYet(f"VM {young[0]} is still being created") if young else Ready(found)

        found = await wait_for(
            "VMs of an earlier run",
            whole,
            timeout=CREATION_SECONDS,
            hint="check the tasks of this VM in Proxmox, then run the same command again",
        )
        names = {change.name for change in changes}
        running = {
            vm["vmid"]
            for vm in found
            if vm.get("name") in names and await _runs(client, vm["node"], vm["vmid"])
        }
    return lost_vms(found, changes, running)


async def occupied(access: Access, changes: Sequence[Change]) -> dict[str, str]:
    """Address of a VM to create → the VM that already has its VMID, or its name if Proxmox
    chooses the VMID, and how it differs.
    """
    wanted = [change for change in changes if change.type == VM]
    if not wanted:
        return {}
    async with _client(access) as client:
        configs = await vm_configs(client, {change.vm_id for change in wanted})
    return {
        change.address: (
            f"VM {vm['vmid']} ({vm.get('name') or 'without a name'}) on {vm['node']} already "
            f"exists: {'; '.join(_differences(vm, change)) or 'it is not in the state'}"
        )
        for change in wanted
        for vm in configs
        if vm["vmid"] == change.vm_id or (change.vm_id is None and vm.get("name") == change.name)
    }


async def _runs(client: Client, node: str, vm_id: int) -> bool:
    try:
        status = await client.get(f"nodes/{node}/qemu/{vm_id}/status/current")
    except MissingError:
        return False
    return bool(status.get("status") != "stopped")


def lost_vms(
    listed: Sequence[Mapping[str, Any]],
    changes: Sequence[Change],
    running: Collection[int] = (),
) -> dict[str, str]:
    """A VM with the planned tags and MAC is the planned one. A VM without them is a creation that
    was interrupted, if it never ran: Proxmox starts a VM after it has everything. `occupied` has
    proven that neither existed before the creation began.
    """
    found: dict[str, str] = {}
    for change in changes:
        same = [
            vm
            for vm in listed
            if vm.get("name") == change.name
            and not vm.get("template")
            and change.vm_id in {None, vm.get("vmid")}
            and (vm.get("vmid") not in running or not _differences(vm, change))
        ]
        if len(same) == 1:
            found[change.address] = f"{same[0]['node']}/{same[0]['vmid']}"
    return found


def _differences(vm: Mapping[str, Any], change: Change) -> list[str]:
    """What a VM lacks to be the planned one."""
    found, wrong = read_config(int(vm["vmid"]), vm), []
    if found.name != change.name:
        wrong.append(f"it is called {found.name or 'nothing'}, not {change.name}")
    if lacking := {str(tag) for tag in change.after.get("tags") or []} - found.tags:
        wrong.append(f"it lacks the tags {', '.join(sorted(lacking))}")
    cards = change.after.get("network_device") or []
    macs = {str(card["mac_address"]).upper() for card in cards if card.get("mac_address")}
    if macs - found.macs:
        shown = ", ".join(sorted(found.macs)) or "no MAC"
        wrong.append(f"it has {shown} instead of {', '.join(sorted(macs))}")
    return wrong


def _client(access: Access) -> Client:
    from talops.proxmox.client import Client  # imports httpx, which most plans do not need

    return Client(access)
