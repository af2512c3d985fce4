"""One VM as it is now, in the words of the state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.provider.api import ApiError
from talops.lab.provider.resources.vm import blocks, drives, networks, scalars, schema

if TYPE_CHECKING:
    from talops.lab.provider.api import Api
    from talops.lab.provider.kinds import Call
    from talops.lab.provider.values import Values

# Settings of the provider rather than of the VM: Proxmox knows nothing of them.
_OURS = (
    "delete_unreferenced_disks_on_destroy", "migrate", "purge_on_destroy", "reboot",
    "reboot_after_update", "stop_on_destroy", "timeout_clone", "timeout_create", "timeout_migrate",
    "timeout_move_disk", "timeout_reboot", "timeout_shutdown_vm", "timeout_start_vm",
    "timeout_stop_vm",
)  # fmt: skip


async def read_vm(call: Call, state: Values) -> Values | None:
    vmid = int(state["id"])
    node = await node_of(call.api, vmid)
    if node is None:
        return None
    path = f"/nodes/{node}/qemu/{vmid}"
    try:
        config = await call.api.get(f"{path}/config")
    except ApiError as error:
        if error.gone:
            return None
        raise
    status = await call.api.get(f"{path}/status/current")
    return await _compose(call, state, node, config, status)


async def _compose(call: Call, state: Values, node: str, config: Values, status: Values) -> Values:
    vmid, cloned = int(state["id"]), bool(state.get("clone"))
    new = {**state, "id": str(vmid), "vm_id": vmid, "node_name": node}
    if not state.get("template"):
        new["started"] = status["status"] == "running"
    new |= scalars.read(config, state, cloned=cloned)
    new |= _order_and_tags(config, state, cloned=cloned)
    new |= blocks.read(config, state, vmid, cloned=cloned)
    current = state.get("disk") or []
    if not cloned or current:
        new["disk"] = await drives.blocks(call.api, node, vmid, config, current)
    new |= await _efi_disk(call.api, node, config, state, cloned=cloned)
    new |= networks.read(config)
    new["pool_id"] = await pool_of(call.api, vmid)
    new |= await networks.read_addresses(call, f"/nodes/{node}/qemu/{vmid}", config, new)
    for name in _OURS:
        if new.get(name) is None:
            new[name] = schema.BLOCK.attributes[name].default
    return new


def _order_and_tags(config: Values, state: Values, *, cloned: bool) -> Values:
    boot = str(config.get("boot", ""))
    order = boot.partition("order=")[2].split(",")[0]
    out: Values = {"boot_order": [slot for slot in order.split(";") if slot]}
    if not cloned or state.get("tags"):
        found = sorted(t.strip() for t in str(config.get("tags") or "").split(";") if t.strip())
        out["tags"] = found or None
    if "hotplug" in config:
        out["hotplug"] = str(config["hotplug"])
    return out


async def _efi_disk(api: Api, node: str, config: Values, state: Values, *, cloned: bool) -> Values:
    if "efidisk0" not in config:
        return {}
    drive = drives.parse(str(config["efidisk0"]))
    found = {
        "datastore_id": drive.store,
        "file_format": drive.format or await drives.volume_format(api, node, drive.volume),
        "pre_enrolled_keys": drive.options.get("pre-enrolled-keys") == "1",
        "type": drive.options.get("efitype", "2m"),
    }
    usual = {
        "datastore_id": "local-lvm",
        "file_format": "raw",
        "pre_enrolled_keys": False,
        "type": "2m",
    }
    if state.get("efi_disk") or (not cloned and found != usual):
        return {"efi_disk": [found]}
    return {}


async def node_of(api: Api, vmid: int) -> str | None:
    """Where the VM is now; a VM that is on no node is gone."""
    for item in await api.get("/cluster/resources", {"type": "vm"}) or []:
        if item.get("vmid") == vmid:
            return str(item["node"])
    return None


async def pool_of(api: Api, vmid: int) -> str:
    for pool in await api.get("/pools") or []:
        name = str(pool["poolid"])
        if f"qemu/{vmid}" in await _members(api, name):
            return name
    return ""


async def _members(api: Api, pool: str) -> set[str]:
    try:
        found: Any = await api.get("/pools", {"poolid": pool})
    except ApiError as error:
        if error.gone:
            return set()
        raise
    return {str(member.get("id")) for one in found or [] for member in one.get("members") or []}
