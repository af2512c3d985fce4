"""proxmox_virtual_environment_vm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.provider import tasks
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, Resource, refuse
from talops.lab.provider.resources.vm import schema
from talops.lab.provider.resources.vm.cloning import clone
from talops.lab.provider.resources.vm.creating import create
from talops.lab.provider.resources.vm.devices import first
from talops.lab.provider.resources.vm.power import Power
from talops.lab.provider.resources.vm.reading import read_vm
from talops.lab.provider.resources.vm.updating import update
from talops.lab.provider.values import UNKNOWN, same

if TYPE_CHECKING:
    from talops.lab.provider.planning import Plan
    from talops.lab.provider.values import Values

_FROM_GUEST = ("ipv4_addresses", "ipv6_addresses", "network_interface_names")


class VirtualMachine(Resource):
    name = "proxmox_virtual_environment_vm"
    block = schema.BLOCK
    legacy = True

    def adjust(self, plan: Plan, prior: Values | None, _config: Values) -> None:
        if prior is None:
            return
        new = plan.planned
        if new["template"]:
            new["started"] = prior["started"]
        if not same(new["vm_id"], prior["vm_id"]) and str(new["vm_id"]) != str(prior["id"]):
            plan.replace.append(("vm_id",))
        if not same(new["node_name"], prior["node_name"]) and not new["migrate"]:
            plan.replace.append(("node_name",))
        for name, key in (("tpm_state", "version"), ("efi_disk", "type")):
            old_block, new_block = first(prior, name) or {}, first(new, name) or {}
            values = old_block.get(key), new_block.get(key)
            if all(values) and values[0] != values[1]:
                plan.replace.append((name, 0, key))
        if any(not same(prior[name], new[name]) for name in ("started", "network_device")):
            new |= dict.fromkeys(_FROM_GUEST, UNKNOWN)

    async def create(self, call: Call, planned: Values) -> Values:
        vmid = int(planned["vm_id"] or await call.ids.next(call.api))
        if planned["clone"]:
            await clone(call, planned, vmid)
        else:
            await create(call, planned, vmid)
        return await self._after(call, {**planned, "id": str(vmid), "vm_id": vmid})

    async def read(self, call: Call, state: Values) -> Values | None:
        return await read_vm(call, state)

    async def update(self, call: Call, prior: Values, planned: Values) -> Values:
        await update(call, prior, planned)
        return await self._after(call, planned)

    async def _after(self, call: Call, state: Values) -> Values:
        found = await read_vm(call, state)
        if found is None:
            refuse(f"VM {state['id']} is gone right after it was changed")
        return found

    async def delete(self, call: Call, prior: Values) -> None:
        power = Power(call, prior["node_name"], int(prior["id"]), prior)
        limit = float(max(prior["timeout_stop_vm"], prior["timeout_shutdown_vm"]))
        if not await power.is_off():
            await (power.stop() if prior["stop_on_destroy"] else power.ensure_stopped())
        flags = (prior["delete_unreferenced_disks_on_destroy"], prior["purge_on_destroy"])
        path = f"{power.path}/?destroy-unreferenced-disks={int(flags[0])}&purge={int(flags[1])}"

        async def dispatch() -> Any:
            return await call.api.call("DELETE", path)

        try:
            upid = await tasks.retrying(dispatch, when=lambda e: e.transient and not e.gone)
        except ApiError as error:
            if error.gone:
                return
            raise
        await tasks.finish(call, "VM delete", upid, limit=limit)
        await _gone(power)

    async def adopt(self, _call: Call, identity: str) -> Values:
        node, separator, vmid = identity.partition("/")
        if not separator or not vmid.isdigit():
            refuse(f"expected NODE/VMID to import, got {identity!r}")
        return {"id": vmid, "node_name": node}


async def _gone(power: Power) -> None:
    """An error is the proof: Proxmox no longer knows of it."""
    try:
        await power.status()
    except ApiError as error:
        if error.code:
            return
        raise
    refuse(f"failed to delete VM {power.vmid}: it is still there")
