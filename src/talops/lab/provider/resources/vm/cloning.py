"""A VM from a template: cloned, moved if need be, then given what is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.provider import tasks
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import refuse
from talops.lab.provider.resources.vm import cloudinit, creating, devices, drives, scalars, schema
from talops.lab.provider.resources.vm.devices import first

if TYPE_CHECKING:
    from talops.lab.provider.kinds import Call
    from talops.lab.provider.values import Values

_RETRY_PAUSE = 10.0


async def clone(call: Call, planned: Values, vmid: int) -> None:
    node, limit = planned["node_name"], float(planned["timeout_clone"])
    await _copy(call, planned, vmid, limit)
    call.saved = {**planned, "id": str(vmid), "vm_id": vmid}
    path = f"/nodes/{node}/qemu/{vmid}"
    await _unlocked(call, path, limit)
    form = await _own(call, planned, vmid, path)
    await put_config(call, path, form)
    config = await call.api.get(f"{path}/config")
    await _disks(call, planned, path, drives.present(config), limit)
    await _firmware_disks(call, planned, path, config, limit)
    await creating.finish(call, planned, vmid, limit)


async def put_config(call: Call, path: str, form: dict[str, str]) -> None:
    async def work() -> Any:
        return await call.api.call("PUT", f"{path}/config", form)

    await tasks.retrying(work, when=lambda e: "got timeout" in e.reason)


async def _copy(call: Call, planned: Values, vmid: int, limit: float) -> None:
    source, node = planned["clone"][0], planned["node_name"]
    origin = source["node_name"] or node
    form = {"newid": str(vmid), "full": "1" if source["full"] else "0"}
    for key, value in (
        ("name", planned["name"]),
        ("description", planned["description"]),
        ("pool", planned["pool_id"]),
        ("storage", source["datastore_id"]),
    ):
        form |= {key: value} if value else {}
    base = f"/nodes/{origin}/qemu/{int(source['vm_id'])}"
    if origin == node:
        await _dispatch(call, base, form, source, limit)
    elif await _all_shared(call, base, origin):
        await _dispatch(call, base, {**form, "target": node}, source, limit)
    else:
        await _dispatch(call, base, form, source, limit)
        await _unlocked(call, f"/nodes/{origin}/qemu/{vmid}", limit)
        move = {"target": node, "with-local-disks": "1"}
        move |= {"targetstorage": source["datastore_id"]} if source["datastore_id"] else {}
        path = f"/nodes/{origin}/qemu/{vmid}/migrate"
        await tasks.run(call, "VM migrate", "POST", path, move, limit=limit)


async def _dispatch(
    call: Call, base: str, form: dict[str, str], source: Values, limit: float
) -> None:
    async def work() -> Any:
        return await call.api.call("POST", f"{base}/clone", form)

    upid = await tasks.retrying(
        work,
        tries=max(1, int(source["retries"])),
        pause=_RETRY_PAUSE,
        when=lambda e: e.transient,
        done=lambda e: e.already_exists,
    )
    if upid is not None:
        await tasks.finish(call, "VM clone", upid, limit=limit)


async def _all_shared(call: Call, base: str, node: str) -> bool:
    config = await call.api.get(f"{base}/config")
    found = [d for d in drives.present(config).values() if d.volume != "none"]
    found += [drives.parse(str(config[k])) for k in ("efidisk0", "tpmstate0") if k in config]
    for store in sorted({drive.store for drive in found}):
        status = await call.api.get(f"/nodes/{node}/storage/{store}/status")
        if "shared" in status and not status["shared"]:
            return False
    return True


async def _unlocked(call: Call, path: str, limit: float) -> None:
    async for _ in tasks.ticks(limit):
        try:
            status = await call.api.get(f"{path}/status/current")
        except ApiError:
            continue
        if not status.get("lock"):
            return
    refuse(f"{path} is still locked after {limit:.0f} s")


async def _own(call: Call, planned: Values, vmid: int, path: str) -> dict[str, str]:
    """Everything that is configured; what is not stays as the template has it."""
    out = scalars.for_clone(planned)
    makers: dict[str, Any] = {
        "agent": devices.agent,
        "cdrom": devices.cdrom,
        "cpu": devices.cpu,
        "memory": lambda block: devices.memory(vmid, block),
        "operating_system": lambda block: {"ostype": block["type"]},
        "startup": devices.startup,
        "vga": devices.vga,
    }
    for name, make in makers.items():
        block = first(planned, name)
        out |= make(block) if block is not None else {}
    config = await call.api.get(f"{path}/config")
    block = first(planned, "initialization")
    if block is not None:
        out |= await _cloud_init(call, path, block, config, vmid)
    out |= devices.host_pci(planned["hostpci"] or [])
    out |= devices.boot(planned["boot_order"]) if planned["boot_order"] else {}
    out |= devices.tags(planned["tags"]) if planned["tags"] else {}
    out |= {"hotplug": planned["hotplug"]} if planned["hotplug"] else {}
    gone = _lists(planned, out)
    if not planned["hook_script_file_id"] and "hookscript" in config:
        gone.append("hookscript")
    return out | ({"delete": ",".join(gone)} if gone else {})


def _lists(planned: Values, out: dict[str, str]) -> list[str]:
    """A configured list replaces the template's; the rest of its slots is emptied."""
    gone = []
    nets, serials = planned["network_device"] or [], planned["serial_device"] or []
    if nets:
        out |= devices.networks(nets)
        gone += [f"net{i}" for i, nic in enumerate(nets) if not nic["enabled"]]
        gone += [f"net{i}" for i in range(len(nets), schema.MAX_NETWORKS)]
    if serials:
        out |= devices.serials(serials)
        gone += [f"serial{i}" for i in range(len(serials), schema.MAX_SERIAL)]
    return gone


async def _cloud_init(
    call: Call, path: str, block: Values, config: Values, vmid: int
) -> dict[str, str]:
    existing = cloudinit.existing_drive(config, vmid)
    old = existing[0] if existing else "ide2"
    slot = block["interface"] or old
    await put_config(call, path, {"delete": ",".join(dict.fromkeys((slot, old)))})
    return {slot: cloudinit.new_drive(block)} | cloudinit.parameters(
        block, upgrade=block["upgrade"]
    )


async def _disks(
    call: Call, planned: Values, path: str, found: dict[str, drives.Drive], limit: float
) -> None:
    for slot, plan in drives.wanted(planned["disk"] or []).items():
        current = found.get(slot)
        if current is None:
            await put_config(call, path, {slot: plan.text()})
            continue
        size, have = plan.size or 0, current.size or 0
        if size < have:
            refuse(f"disk {slot} cannot shrink: {size} bytes are wanted, it has {have}")
        await put_config(call, path, {slot: drives.merged(current, plan).text()})
        store = plan.volume.partition(":")[0]
        if store and store != current.store:
            await move_disk(call, path, slot, store, limit)
        if size > have:
            await creating.resize(call, path, slot, size, limit)


async def _firmware_disks(
    call: Call, planned: Values, path: str, config: Values, limit: float
) -> None:
    makers = (
        ("efi_disk", "efidisk0", devices.efi_disk),
        ("tpm_state", "tpmstate0", devices.tpm_state),
    )
    for name, slot, make in makers:
        block = first(planned, name)
        if block is None:
            continue
        if slot not in config:
            await put_config(call, path, make(block))
            continue
        current = drives.parse(str(config[slot]))
        if name == "efi_disk" and block["type"] != current.options.get("efitype", "2m"):
            refuse("changing the EFI disk type (4m / 2m) is not supported")
        if block["datastore_id"] and block["datastore_id"] != current.store:
            await move_disk(call, path, slot, block["datastore_id"], limit)


async def move_disk(call: Call, path: str, slot: str, store: str, limit: float) -> None:
    form = {"disk": slot, "storage": store, "delete": "1"}
    try:
        await tasks.run(call, "VM disk move", "POST", f"{path}/move_disk", form, limit=limit)
    except ApiError as error:
        if "same storage with same format" not in error.reason:
            raise
