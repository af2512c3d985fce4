"""A change of a VM that is there: what to send, and whether it must go off for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.lab.provider import tasks
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import refuse
from talops.lab.provider.options import plain
from talops.lab.provider.planning import changed
from talops.lab.provider.resources.pool import pool_path
from talops.lab.provider.resources.vm import cloudinit, devices, drives, schema
from talops.lab.provider.resources.vm.change import Change
from talops.lab.provider.resources.vm.cloning import put_config
from talops.lab.provider.resources.vm.devices import first
from talops.lab.provider.resources.vm.power import Power
from talops.lab.provider.resources.vm.scalars import SCALARS
from talops.lab.provider.resources.vm.volumes import apply_volumes

if TYPE_CHECKING:
    from talops.lab.provider.kinds import Call
    from talops.lab.provider.values import Values


async def update(call: Call, prior: Values, planned: Values) -> None:
    vmid = int(prior["id"])
    change = Change(prior, planned)
    await _pool(call, change, vmid)
    if prior["node_name"] != planned["node_name"]:
        await _migrate(call, change, vmid)
    power = Power(call, planned["node_name"], vmid, planned)
    config = await call.api.get(f"{power.path}/config")
    _scalars(change)
    _blocks(change, vmid)
    _slots(change, config)
    _disks(change, vmid, config)
    await _firmware(change, power)
    rebuild = await _cloud_init(call, change, power, config)
    await _send(call, change, power.path)
    await _template(call, change, power)
    if rebuild and not planned["template"]:
        await call.api.call("PUT", f"{power.path}/cloudinit")
    await apply_volumes(call, change, power)
    if not planned["template"]:
        restart = change.restart and not power.warned
        was = bool(prior["started"]) and not planned["started"]
        await power.settle(started=planned["started"], was_started=was, restart=restart)
    else:
        await power.ensure_stopped()


async def _send(call: Call, change: Change, path: str) -> None:
    form = dict(change.form)
    if change.planned["name"]:
        form["name"] = change.planned["name"]
    else:
        change.delete.append("name")
    if change.delete:
        form["delete"] = ",".join(change.delete)
    await put_config(call, path, form)


def _scalars(change: Change) -> None:
    for item in SCALARS:
        if change.has(item.name):
            value = change.planned[item.name]
            if item.deleted and not value:
                change.delete.append(item.key)
            else:
                change.form[item.key] = plain(value)
            change.restart |= item.reboot
    if change.has("on_boot"):
        change.form["onboot"] = plain(change.planned["on_boot"])
    if change.has("scsi_hardware"):
        change.form["scsihw"] = change.planned["scsi_hardware"]
        change.restart = True
    if change.has("tags"):
        change.form |= devices.tags(change.planned["tags"] or [])
    if change.has("hotplug") and change.planned["hotplug"]:
        change.form["hotplug"] = change.planned["hotplug"]


def _blocks(change: Change, vmid: int) -> None:
    makers: dict[str, Any] = {
        "agent": devices.agent,
        "operating_system": lambda block: {"ostype": block["type"]},
        "vga": devices.vga,
    }
    for name, make in makers.items():
        if change.has(name):
            change.form |= make(change.block(name))
            change.restart = True
    if change.has("boot_order"):
        change.form |= devices.boot(change.planned["boot_order"] or [])
        change.restart = True
    if change.has("startup"):
        block = first(change.planned, "startup")
        change.form |= devices.startup(block) if block else {}
        change.delete += [] if block else ["startup"]
    if change.has("cdrom"):
        _cdrom(change)
    if change.has("cpu"):
        _cpu(change)
    if change.has("memory"):
        _memory(change, vmid)


def _cdrom(change: Change) -> None:
    block = change.block("cdrom")
    old = first(change.prior, "cdrom")
    if old is not None and (old["interface"] or "ide3") != block["interface"]:
        change.delete.append(old["interface"] or "ide3")
    change.form |= devices.cdrom(block)


def _cpu(change: Change) -> None:
    new, old = change.block("cpu"), first(change.prior, "cpu") or {}
    change.form |= devices.cpu(new)
    change.delete += [] if new["hotplugged"] else ["vcpus"]
    change.delete += [] if new["limit"] else ["cpulimit"]
    others = {name for name in new if name != "hotplugged" and changed(old, new, name)}
    change.restart |= bool(others) or not change.hot("cpu")


def _memory(change: Change, vmid: int) -> None:
    new, old = change.block("memory"), first(change.prior, "memory") or {}
    change.form |= devices.memory(vmid, new)
    sizes = ("dedicated", "floating", "shared")
    grows = all(new[name] >= (old.get(name) or 0) for name in sizes)
    pages = changed(old, new, "hugepages") or changed(old, new, "keep_hugepages")
    change.restart |= not (grows and not pages and change.hot("memory"))


def _slots(change: Change, config: Values) -> None:
    """Lists of devices: all that are planned are sent, slots that are left over are emptied."""
    if change.has("hostpci"):
        sent = devices.host_pci(change.planned["hostpci"] or [])
        change.form |= sent
        change.delete += [f"hostpci{i}" for i in range(schema.MAX_PCI) if f"hostpci{i}" not in sent]
        change.restart = True
    if change.has("serial_device"):
        sent = devices.serials(change.planned["serial_device"] or [])
        change.form |= sent
        change.delete += [f"serial{i}" for i in range(len(sent), schema.MAX_SERIAL)]
        change.restart = True
    if change.has("network_device"):
        sent = devices.networks(change.planned["network_device"] or [])
        change.form |= sent
        change.delete += [
            f"net{i}"
            for i in range(schema.MAX_NETWORKS)
            if f"net{i}" in config and f"net{i}" not in sent
        ]


def _disks(change: Change, vmid: int, config: Values) -> None:
    """Also deletes every disk that is not in the configuration, whoever attached it."""
    if not change.has("disk"):
        return
    plan, found = drives.wanted(change.planned["disk"] or []), drives.present(config)
    for slot, drive in found.items():
        if slot in plan or drive.media == "cdrom" or drive.is_cloud_init(vmid):
            continue
        if slot in (change.planned["boot_order"] or []):
            refuse(f"cannot delete boot disk {slot!r}: take it out of boot_order first")
        change.delete.append(slot)
    for slot, wanted in plan.items():
        current = found.get(slot)
        if current is None:
            change.form[slot] = replace(wanted, size=None).text()
            continue
        new, old = wanted.options, current.options
        change.restart |= any(new.get(name) != old.get(name) for name in ("aio", "queues"))
        change.form[slot] = replace(current, options=new, format=None, size=None).text()


async def _firmware(change: Change, power: Power) -> None:
    """A move to another datastore is done later, by its own call."""
    if change.has("efi_disk"):
        block = first(change.planned, "efi_disk")
        if block is not None and not change.moves("efi_disk"):
            change.form |= devices.efi_disk(block)
        change.restart = True
    if change.has("tpm_state"):
        await power.off_for_change("add, remove, or update the TPM device")
        block = first(change.planned, "tpm_state")
        if block is None:
            change.delete.append("tpmstate0")
        elif not change.moves("tpm_state"):
            change.form |= devices.tpm_state(block)
        change.restart = True


async def _cloud_init(call: Call, change: Change, power: Power, config: Values) -> bool:
    """Whether the drive must be written anew."""
    if not change.has("initialization"):
        return False
    change.restart = True
    block, old = first(change.planned, "initialization"), first(change.prior, "initialization")
    if block is None:
        return True
    upgrade = block["upgrade"] if old and changed(old, block, "upgrade") else None
    change.form |= cloudinit.parameters(block, upgrade=upgrade)
    existing = cloudinit.existing_drive(config, power.vmid)
    slot = block["interface"] or (existing[0] if existing else "ide2")
    moved = existing is None or slot != existing[0]
    if old is not None:
        moved |= any(changed(old, block, name) for name in ("datastore_id", "file_format"))
    if moved:
        await power.off_for_change("move the Cloud-Init drive")
        gone = dict.fromkeys((slot, existing[0] if existing else slot))
        await put_config(call, power.path, {"delete": ",".join(gone)})
        change.form[slot] = cloudinit.new_drive(block)
    return True


async def _template(call: Call, change: Change, power: Power) -> None:
    if not change.has("template"):
        return
    if not change.planned["template"]:
        refuse("Cannot convert a template back to a regular VM")
    await power.off_for_change("convert the VM to a template")
    limit = float(change.planned["timeout_migrate"])
    await tasks.run(call, "VM convert to template", "POST", f"{power.path}/template", limit=limit)
    change.restart = False


async def _pool(call: Call, change: Change, vmid: int) -> None:
    old, new = change.prior["pool_id"] or "", change.planned["pool_id"] or ""
    if old == new or not new:
        return
    if old:
        await call.api.call("PUT", pool_path(old), {"vms": str(vmid), "delete": "1"})
    await call.api.call("PUT", pool_path(new), {"vms": str(vmid)})


async def _migrate(call: Call, change: Change, vmid: int) -> None:
    path = f"/nodes/{change.prior['node_name']}/qemu/{vmid}"
    await call.api.get(f"{path}/status/current")
    try:
        await call.api.get(f"/cluster/ha/resources/vm:{vmid}")
    except ApiError as error:
        if not error.gone:
            raise
    else:
        refuse(f"VM {vmid} is managed by HA: the lab's stand-in does not move such VMs")
    form = {"online": "1", "target": change.planned["node_name"], "with-local-disks": "1"}
    limit = float(change.planned["timeout_migrate"])
    await tasks.run(call, "VM migrate", "POST", f"{path}/migrate", form, limit=limit)
