"""Snapshots of a VM: its configuration at a time, and its disks on storages that can."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.storage.features import has
from talops.lab.proxmox.vm.drives import is_cdrom
from talops.lab.proxmox.vm.records import Vm, find, need_unlocked

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.proxmox.tasks import Task

NOT_COPIED = frozenset({"lock", "description", "snapstate", "snaptime", "vmstate"})
WITH_RAM = {"amd-sev": "amd-sev", "intel-tdx": "intel-tdx", "virtiofs0": "virtiofs"}
YOU_ARE_HERE = "You are here!"


@route("GET", "/nodes/{node}/qemu/{vmid}/snapshot")
def list_snapshots(call: Call) -> list[dict[str, Any]]:
    vm = find(call.pve, call.node, call.vmid)
    rows = [_row(name, snapshot) for name, snapshot in vm.snapshots.items()]
    current = {
        "name": "current",
        "description": YOU_ARE_HERE,
        "digest": vm.digest(),
        "running": 1 if vm.is_running else 0,
    }
    parent = {"parent": vm.config["parent"]} if vm.config.get("parent") else {}
    return [*call.pve.shuffled(rows), current | parent]


def _row(name: str, snapshot: dict[str, Any]) -> dict[str, Any]:
    row = {
        "name": name,
        "snaptime": snapshot.get("snaptime", 0),
        "vmstate": int(bool(snapshot.get("vmstate"))),
        "description": snapshot.get("description", ""),
    }
    return row | {key: snapshot[key] for key in ("parent", "snapstate") if snapshot.get(key)}


@route("GET", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}")
def snapshot_index(_: Call) -> list[dict[str, str]]:
    return [{"cmd": "rollback"}, {"cmd": "config"}]


@route("GET", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config")
def read_snapshot(call: Call) -> dict[str, Any]:
    return find(call.pve, call.node, call.vmid).taken(call.params["snapname"])


@route("PUT", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config")
async def change_snapshot(call: Call) -> None:
    if call.get("description") is None:
        return
    async with call.pve.locks.config(call.vmid):
        vm = find(call.pve, call.node, call.vmid)
        need_unlocked(call.pve, vm)
        snapshot = vm.taken(call.params["snapname"])
        changed = {**snapshot, "description": call.params["description"]}
        _store(call.pve, vm, {**vm.snapshots, call.params["snapname"]: changed})


def _store(
    pve: Hypervisor, vm: Vm, snapshots: dict[str, Any], config: dict[str, Any] | None = None
) -> Vm:
    changed = replace(vm, snapshots=snapshots)
    changed = changed.with_config(changed.config if config is None else config)
    pve.vms.put(vm.key, changed)
    return changed


@route("POST", "/nodes/{node}/qemu/{vmid}/snapshot")
def take(call: Call) -> str:
    name = call.params["snapname"]
    if name == "current" or name.lower() == "pending":
        raise failed(f"unable to use snapshot name '{name.lower()}' (reserved name)")
    vm = find(call.pve, call.node, call.vmid)
    if call.get("vmstate"):
        _need_plain(vm)

    async def work(task: Task) -> None:
        async with call.pve.locks.config(call.vmid):
            vm = _prepare(call, name)
        try:
            await task.step("snapshot")
        finally:
            async with call.pve.locks.config(call.vmid):
                _commit(call.pve, vm, name)

    return call.start("qmsnapshot", str(call.vmid), work)


def _need_plain(vm: Vm) -> None:
    """What the memory of a VM cannot be saved with."""
    found = [what for key, what in WITH_RAM.items() if vm.config.get(key)]
    if found:
        raise failed(
            "Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: " + ", ".join(found)
        )


def _prepare(call: Call, name: str) -> Vm:
    """Record the snapshot, locked and unfinished."""
    pve = call.pve
    vm = find(pve, call.node, call.vmid)
    if vm.is_template:
        raise failed("you can't take a snapshot if it's a template")
    need_unlocked(pve, vm)
    if name in vm.snapshots:
        raise failed(f"snapshot name '{name}' already used")
    if not possible(pve, vm, "snapshot"):
        raise failed("snapshot feature is not available")
    snapshot = {**_copied(vm.config), "snapstate": "prepare", "snaptime": int(pve.clock.now())}
    if call.get("description"):
        snapshot["description"] = call.params["description"]
    others = {
        other: {k: v for k, v in found.items() if (k, v) != ("parent", name)}
        for other, found in vm.snapshots.items()
    }
    return _store(pve, vm, {**others, name: snapshot}, {**vm.config, "lock": "snapshot"})


def _copied(config: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in config.items()
        if key not in NOT_COPIED and not key.startswith("unused")
    }


def possible(pve: Hypervisor, vm: Vm, what: str, snapshot: str = "") -> bool:
    """Whether the storages of all its disks have this feature."""
    drives = vm.drives().values()
    volumes = (pve.storages.volume(d["file"], vm.node) for d in drives if not is_cdrom(d))
    return all(has(pve.storages, what, volume, snapshot) for volume in volumes)


def _commit(pve: Hypervisor, vm: Vm, name: str) -> None:
    now = find(pve, vm.node, vm.vmid)
    done = {key: value for key, value in now.taken(name).items() if key != "snapstate"}
    config = {key: value for key, value in now.config.items() if key != "lock"}
    _store(pve, now, {**now.snapshots, name: done}, {**config, "parent": name})


@route("DELETE", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}")
def delete(call: Call) -> str:
    name = call.params["snapname"]

    async def work(task: Task) -> None:
        async with call.pve.locks.config(call.vmid):
            vm = find(call.pve, call.node, call.vmid)
            vm.taken(name)
            need_unlocked(call.pve, vm)
            if vm.is_template:
                raise failed("you can't delete a snapshot if vm is a template")
            await task.step("snapshot")
            _forget(call.pve, vm, name)

    return call.start("qmdelsnapshot", str(call.vmid), work)


def _forget(pve: Hypervisor, vm: Vm, name: str) -> None:
    """Its children become those of its parent."""
    parent = vm.snapshots[name].get("parent", "")

    def moved(entry: dict[str, Any]) -> dict[str, Any]:
        if entry.get("parent") != name:
            return entry
        rest = {key: value for key, value in entry.items() if key != "parent"}
        return {**rest, "parent": parent} if parent else rest

    kept = {other: moved(found) for other, found in vm.snapshots.items() if other != name}
    drives = Vm(vm.vmid, vm.node, vm.snapshots[name]).drives().values()
    used = replace(vm, snapshots=kept).volids()
    left = [d["file"] for d in drives if not is_cdrom(d) and d["file"] not in used]
    _store(pve, vm, kept, _unused(moved(vm.config), left))


def _unused(config: dict[str, Any], volids: list[str]) -> dict[str, Any]:
    config = dict(config)
    for volid in volids:
        if volid not in config.values():
            number = next(n for n in range(256) if f"unused{n}" not in config)
            config[f"unused{number}"] = volid
    return config


@route("POST", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback")
def rollback(call: Call) -> str:
    if call.get("start"):
        call.need(f"/vms/{call.vmid}", "VM.PowerMgmt")

    async def work(task: Task) -> None:
        from talops.lab.proxmox.vm.power import power_off, power_on

        async with call.pve.locks.config(call.vmid):
            vm = _returnable(call)
            await power_off(call.pve, vm, graceful=False)
            await task.step("rollback")
            vm = _return(call.pve, find(call.pve, call.node, call.vmid), call.params["snapname"])
            if call.get("start"):
                await power_on(call.pve, task, vm)

    return call.start("qmrollback", str(call.vmid), work)


def _returnable(call: Call) -> Vm:
    pve, name = call.pve, call.params["snapname"]
    vm = find(pve, call.node, call.vmid)
    if vm.is_template:
        raise failed("you can't rollback if vm is a template")
    snapshot = vm.taken(name)
    for drive in Vm(vm.vmid, vm.node, snapshot).drives().values():
        if not is_cdrom(drive):
            _need_newest(pve, vm, drive["file"], name)
    if snapshot.get("snapstate"):
        state = snapshot["snapstate"]
        raise failed(f"unable to rollback to incomplete snapshot (snapstate = {state})")
    need_unlocked(pve, vm)
    return vm


def _need_newest(pve: Hypervisor, vm: Vm, volid: str, name: str) -> None:
    """ZFS returns to the newest snapshot only."""
    if pve.storages.get(volid.split(":", 1)[0])["type"] != "zfspool":
        return
    holding = [
        other
        for other, found in vm.snapshots.items()
        if any(d["file"] == volid for d in Vm(vm.vmid, vm.node, found).drives().values())
    ]
    if holding[-1] != name:
        raise failed(f"can't rollback, '{name}' is not most recent snapshot on '{volid}'")


def _return(pve: Hypervisor, vm: Vm, name: str) -> Vm:
    """The configuration of the snapshot; what is unused now, and the description, stay."""
    kept = {k: v for k, v in vm.config.items() if k.startswith("unused") or k == "description"}
    config = {**kept, **_copied(vm.taken(name)), "parent": name}
    used = replace(vm, config=config).volids()
    mine = [d["file"] for d in vm.drives().values() if not is_cdrom(d)]
    config = _unused(config, [volid for volid in mine if volid not in used])
    return _store(pve, vm, vm.snapshots, config)


@route("GET", "/nodes/{node}/qemu/{vmid}/feature")
def feature(call: Call) -> dict[str, Any]:
    vm, name = find(call.pve, call.node, call.vmid), call.get("snapname") or ""
    seen = Vm(vm.vmid, vm.node, vm.taken(name)) if name else vm
    files = (d["file"] for d in seen.drives().values() if d["file"] not in {"none", "cdrom"})
    shared = all(call.pve.storages.shared(file.split(":")[0]) for file in files)
    has_it = possible(call.pve, seen, call.params["feature"], name)
    return {"hasFeature": int(has_it), "nodes": list(call.pve.nodes) if shared else [vm.node]}
