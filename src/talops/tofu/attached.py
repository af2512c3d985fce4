"""The actual disks of a VM; the state does not contain disks that others attached."""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import DeniedError, TalopsError, UnreachableError
from talops.tofu.identity import read_config
from talops.tofu.plan import VM
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import httpx

    from talops.redaction import Secret
    from talops.tofu.plan import Change

_SLOT = re.compile(r"(scsi|virtio|sata|ide)\d+")
_NOT_A_DISK = re.compile(r"media=cdrom|cloudinit|^none\b")
SECONDS = 15
CREATION_SECONDS = 120
AT_ONCE = 8
# The lock of a VM whose name, tags and disks are not set yet.
YOUNG = frozenset({"create", "clone"})
OK, FORBIDDEN, FAILED = 200, (401, 403), 500


class GoneError(TalopsError):
    """The read of a VM that was listed before."""


@dataclass(frozen=True)
class Access:
    """How the provider connects to Proxmox: PROXMOX_VE_* of its environment."""

    endpoint: str
    token: Secret | None = None
    ticket: tuple[str, Secret] | None = None  # user name and password
    insecure: bool = False
    ca_file: str | None = None


def disk_slots(config: Mapping[str, Any]) -> frozenset[str]:
    """Slots of the disks in a VM's config, without CD-ROM and cloud-init drives."""
    return frozenset(
        key
        for key, value in config.items()
        if _SLOT.fullmatch(key) and not _NOT_A_DISK.search(str(value))
    )


async def read_attached(access: Access, changes: Sequence[Change]) -> dict[int, frozenset[str]]:
    """The slots of every existing VM that a plan touches. A VM that Proxmox does not show is left
    out: a token without access to a VM gets the same response as for a VM that does not exist.
    """
    existing = {c.vm_id for c in changes if c.type == VM and c.before and c.vm_id is not None}
    if not existing:
        return {}
    async with _client(access) as client:
        await _log_in(client, access)
        return {vm["vmid"]: disk_slots(vm) for vm in await _configs(client, existing)}


async def read_configs(access: Access, vm_ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """VMID → config of the VMs that Proxmox shows."""
    if not vm_ids:
        return {}
    async with _client(access) as client:
        await _log_in(client, access)
        return {vm["vmid"]: vm for vm in await _configs(client, vm_ids)}


async def find_lost(access: Access, changes: Sequence[Change]) -> dict[str, str]:
    """Address → NODE/VMID of planned VMs that an earlier run began to create.

    A VMID that another VM uses is left out: its creation is refused, as it should be.
    """
    wanted = {change.vm_id for change in changes}
    async with _client(access) as client:
        await _log_in(client, access)

        async def whole() -> Ready[list[dict[str, Any]]] | NotYet:
            found = await _configs(client, wanted)
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


async def in_the_way(access: Access, changes: Sequence[Change]) -> dict[str, str]:
    """Address → the VM that has the VMID of a VM to be created, or its name where Proxmox chooses
    the VMID; and what it lacks to be that VM.
    """
    wanted = [change for change in changes if change.type == VM]
    if not wanted:
        return {}
    async with _client(access) as client:
        await _log_in(client, access)
        configs = await _configs(client, {change.vm_id for change in wanted})
    return {
        change.address: (
            f"VM {vm['vmid']} ({vm.get('name') or 'without a name'}) on {vm['node']} already "
            f"exists: {'; '.join(_differences(vm, change)) or 'it is not in the state'}"
        )
        for change in wanted
        for vm in configs
        if vm["vmid"] == change.vm_id or (change.vm_id is None and vm.get("name") == change.name)
    }


async def _runs(client: httpx.AsyncClient, node: str, vm_id: int) -> bool:
    try:
        status = await _ask(client, "GET", f"nodes/{node}/qemu/{vm_id}/status/current")
    except GoneError:
        return False
    return bool(status.get("status") != "stopped")


async def _configs(
    client: httpx.AsyncClient, wanted: Collection[int | None]
) -> list[dict[str, Any]]:
    """The configs of these VMs, or of all where any VMID will do, with `vmid` and `node`.

    The list is seconds old and incomplete, so it is used only for the VMIDs.
    """
    listed = await _ask(client, "GET", "cluster/resources", params={"type": "vm"})
    rows = [vm for vm in listed if vm.get("type", "qemu") == "qemu"]
    rows = [vm for vm in rows if None in wanted or vm["vmid"] in wanted]
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(vm_id: int, node: str) -> dict[str, Any] | None:
        async with gate:
            try:
                config = await _ask(client, "GET", f"nodes/{node}/qemu/{vm_id}/config")
            except GoneError:
                return None
        return {**config, "vmid": vm_id, "node": node}

    found = await asyncio.gather(*(read(vm["vmid"], vm["node"]) for vm in rows))
    return [config for config in found if config is not None]


def lost_vms(
    listed: Sequence[Mapping[str, Any]],
    changes: Sequence[Change],
    running: Collection[int] = (),
) -> dict[str, str]:
    """A VM that has its tags and its MAC is the planned one. One that lacks them was being created
    only if it never ran: a VM is started when it has everything. Neither existed before its
    creation began, see `in_the_way`.
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


def _client(access: Access) -> httpx.AsyncClient:
    import httpx

    verify: bool | ssl.SSLContext = not access.insecure
    if access.ca_file and not access.insecure:
        verify = ssl.create_default_context(cafile=access.ca_file)
    base = f"{access.endpoint.rstrip('/').removesuffix('/api2/json')}/api2/json/"
    return httpx.AsyncClient(base_url=base, verify=verify, timeout=SECONDS)


async def _log_in(client: httpx.AsyncClient, access: Access) -> None:
    if access.token:
        client.headers["Authorization"] = f"PVEAPIToken={access.token.reveal()}"
    elif access.ticket:
        user, password = access.ticket
        data = {"username": user, "password": password.reveal()}
        answer = await _ask(client, "POST", "access/ticket", data=data)
        client.cookies.set("PVEAuthCookie", answer["ticket"])


async def _ask(client: httpx.AsyncClient, method: str, path: str, **more: Any) -> Any:
    import httpx

    where = f"{client.base_url}{path}"
    try:
        answer = await client.request(method, path, **more)
    except httpx.HTTPError as error:
        raise UnreachableError(
            f"Proxmox does not answer: {error or type(error).__name__}",
            where=where,
            hint="talops host check",
        ) from error
    if answer.status_code in FORBIDDEN:
        raise DeniedError(
            f"Proxmox denied the request: {answer.reason_phrase}",
            where=where,
            hint="talops host check",
        )
    if answer.status_code == FAILED and "does not exist" in answer.reason_phrase:
        raise GoneError(f"Proxmox says: {answer.reason_phrase}", where=where)
    if answer.status_code != OK:
        raise TalopsError(
            f"Proxmox says {answer.status_code} {answer.reason_phrase}",
            where=where,
            hint="talops host check",
        )
    return answer.json()["data"]
