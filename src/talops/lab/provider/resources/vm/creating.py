"""A new VM, from nothing or from another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.provider import tasks
from talops.lab.provider.resources.vm import cloudinit, devices, drives, scalars, schema
from talops.lab.provider.resources.vm.devices import defaults, first
from talops.lab.provider.resources.vm.power import Power

if TYPE_CHECKING:
    from talops.lab.provider.kinds import Call
    from talops.lab.provider.values import Values


async def create(call: Call, planned: Values, vmid: int) -> None:
    node, limit = planned["node_name"], float(planned["timeout_create"])
    wanted = drives.wanted(planned["disk"] or [])
    form = parameters(planned, vmid, wanted)

    async def dispatch() -> Any:
        return await call.api.call("POST", f"/nodes/{node}/qemu", form)

    upid = await tasks.retrying(
        dispatch, when=lambda e: e.transient, done=lambda e: e.already_exists
    )
    if upid is not None:
        await tasks.finish(call, "VM create", upid, limit=limit)
    call.saved = {**planned, "id": str(vmid), "vm_id": vmid}
    path = f"/nodes/{node}/qemu/{vmid}"
    for slot, drive in wanted.items():
        if drive.import_from:
            await resize(call, path, slot, drive.size or 0, limit)
    await finish(call, planned, vmid, limit)


async def finish(call: Call, planned: Values, vmid: int, limit: float) -> None:
    """Made a template or switched on, whichever it is to be."""
    power = Power(call, planned["node_name"], vmid, planned)
    if planned["template"]:
        path = f"{power.path}/template"
        await tasks.run(call, "VM convert to template", "POST", path, limit=limit)
    elif planned["started"]:
        await power.ensure_running()
        if planned["reboot"]:
            await power.restart()


async def resize(call: Call, path: str, slot: str, size: int, limit: float) -> None:
    async def work() -> Any:
        form = {"disk": slot, "size": str(size)}
        return await call.api.call("PUT", f"{path}/resize", form)

    upid = await tasks.retrying(
        work, tries=5, when=lambda e: "got timeout" in e.reason or "does not exist" in e.reason
    )
    await tasks.finish(call, "VM disk resize", upid, limit=limit)


def parameters(planned: Values, vmid: int, wanted: dict[str, drives.Drive]) -> dict[str, str]:
    out = {"vmid": str(vmid), "template": "0", **scalars.for_create(planned)}
    out |= devices.agent(first(planned, "agent") or defaults(schema.AGENT))
    out |= devices.cpu(first(planned, "cpu") or defaults(schema.CPU))
    out |= devices.memory(vmid, first(planned, "memory") or defaults(schema.MEMORY))
    out |= {"ostype": (first(planned, "operating_system") or {"type": "other"})["type"]}
    out |= devices.host_pci(planned["hostpci"] or [])
    out |= devices.networks(planned["network_device"] or [])
    out |= devices.serials(planned["serial_device"] or [])
    out |= {slot: drive.text() for slot, drive in wanted.items()}
    out |= _optional(planned)
    return out | devices.boot(planned["boot_order"] or _usual_order(planned, wanted))


def _optional(planned: Values) -> dict[str, str]:
    out: dict[str, str] = {}
    makers = {
        "cdrom": devices.cdrom,
        "efi_disk": devices.efi_disk,
        "tpm_state": devices.tpm_state,
        "startup": devices.startup,
        "vga": devices.vga,
    }
    for name, make in makers.items():
        block = first(planned, name)
        if block is not None:
            out |= make(block)
    block = first(planned, "initialization")
    if block is not None:
        out[block["interface"] or "ide2"] = cloudinit.new_drive(block)
        out |= cloudinit.parameters(block, upgrade=block["upgrade"])
    if planned["tags"]:
        out |= devices.tags(planned["tags"])
    if planned["pool_id"]:
        out["pool"] = planned["pool_id"]
    return out | ({"hotplug": planned["hotplug"]} if planned["hotplug"] else {})


def _usual_order(planned: Values, wanted: dict[str, drives.Drive]) -> list[str]:
    cdrom = first(planned, "cdrom")
    order = [cdrom["interface"]] if cdrom else []
    order += [slot for slot in ("ide0", "sata0", "scsi0", "virtio0") if slot in wanted]
    return order + (["net0"] if planned["network_device"] is not None else [])
