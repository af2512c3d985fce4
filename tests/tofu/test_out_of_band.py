"""What a user changes without talops: shown with its effect, and repaired or refused.

One worker per change, so that one plan and one apply show them all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.tofu.home import call
from tests.tofu.site import small_site

from talops.lab.proxmox.storage.volumes import Volume
from talops.lab.spec import HypervisorSpec, LabSpec, NodeSpec
from talops.tofu.policy import Policy, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.real_provider import Programs
    from tests.tofu.site import Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
Config = dict[str, Any]
NOTHING, ONLINE, RESTARTS, DISCONNECTS = "", "online", "restarts", "disconnects"


def put(**values: Any) -> Callable[[Config], Config]:
    return lambda config: {**config, **values}


def drop(*keys: str) -> Callable[[Config], Config]:
    return lambda config: {key: value for key, value in config.items() if key not in keys}


def edit(key: str, old: str, new: str) -> Callable[[Config], Config]:
    def change(config: Config) -> Config:
        assert old in str(config[key]), config[key]
        return {**config, key: str(config[key]).replace(old, new)}

    return change


# What is done to the configuration → what the plan says of it, and which attribute it names.
ROWS: dict[str, tuple[Callable[[Config], Config], str, str]] = {
    "agent is 0": (put(agent="0"), NOTHING, ""),
    "agent gone": (drop("agent"), RESTARTS, "agent"),
    "startup gone": (drop("startup"), ONLINE, "startup"),
    "startup in part": (put(startup="order=9"), ONLINE, "startup"),
    "cpu gone": (drop("cpu"), RESTARTS, "cpu"),
    "cpu in long form": (put(cpu="cputype=host"), NOTHING, ""),
    "fewer cores": (put(cores=1), RESTARTS, "cpu"),
    "less memory": (put(memory="2048"), RESTARTS, "memory"),
    "machine pinned": (put(machine="pc-q35-9.2"), RESTARTS, "machine"),
    "machine with viommu": (put(machine="q35,viommu=virtio"), RESTARTS, "machine"),
    "boot gone": (drop("boot"), RESTARTS, "boot_order"),
    "boot has more": (edit("boot", "order=", "order=net0;"), RESTARTS, "boot_order"),
    "ostype gone": (drop("ostype"), RESTARTS, "operating_system"),
    "tags with commas": (lambda c: {**c, "tags": c["tags"].replace(";", ",")}, ONLINE, "tags"),
    "tags in another order": (
        lambda c: {**c, "tags": ";".join(reversed(c["tags"].split(";")))},
        NOTHING,
        "",
    ),
    "description with newline": (
        lambda c: {**c, "description": f"{c['description']}\n"},
        ONLINE,
        "description",
    ),
    "no enrolled keys named": (
        lambda c: {**c, "efidisk0": c["efidisk0"].replace("pre-enrolled-keys=0,", "")},
        NOTHING,
        "",
    ),
    "EFI disk with ms-cert": (
        lambda c: {**c, "efidisk0": f"{c['efidisk0']},ms-cert=2023"},
        NOTHING,
        "",
    ),
    "cdrom ejected": (put(ide3="none,media=cdrom"), ONLINE, "cdrom"),
    "cdrom gone": (drop("ide3"), ONLINE, "cdrom"),
    "onboot gone": (drop("onboot"), ONLINE, "on_boot"),
    "numa gone": (drop("numa"), RESTARTS, "cpu"),
    "defaults gone": (drop("scsihw", "keyboard", "tablet", "acpi", "protection"), NOTHING, ""),
    "disk size in MiB": (edit("scsi0", "size=32G", "size=32769M"), NOTHING, ""),
    "MAC in lower case": (
        lambda c: {**c, "net0": c["net0"].lower()},
        RESTARTS,
        "network_device",
    ),
    "firewall not named": (edit("net0", "firewall=0,", ""), NOTHING, ""),
    "another NIC": (
        put(net1="virtio=BC:24:11:00:00:99,bridge=vmbr0"),
        DISCONNECTS,
        "network_device",
    ),
    "serial gone": (drop("serial0"), RESTARTS, "serial_device"),
    "vga added": (put(vga="std"), NOTHING, ""),
    "hotplug set": (put(hotplug="disk,network,usb"), NOTHING, ""),
    "onboot as text": (put(onboot="1"), ONLINE, "on_boot"),
    "another disk": (put(scsi5="local-lvm:vm-9999-csi,size=1G"), NOTHING, ""),
}
STOPPED, MOVED, DELETED = "stopped", "moved", "deleted"
WORKERS = [*ROWS, STOPPED, MOVED, DELETED]
NODES = (NodeSpec(name="pve1", cores=256, memory_gib=512), NodeSpec(name="pve2"))
SPEC = LabSpec(proxmox=(HypervisorSpec(name="pve", nodes=NODES),))


@pytest.mark.sampled("layers in the lab")
async def test_every_change_is_seen_and_repaired(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drift has its class and its cause, apply repairs it, and foreign things stay."""
    count = len(WORKERS)
    async with small_site(tmp_path, programs, monkeypatch, SPEC, workers=count) as site:
        await site.apply()
        wanted = {name: vm.config for name, vm in site.home.vms.items()}
        await _meddle(site)
        seen = {
            name: (str(judged.effect), {cause.attribute.split(".")[0] for cause in judged.causes})
            for name, judged in (await site.judged()).items()
        }
        assert seen == _expected()
        with pytest.raises(RefusedError, match="disconnects it") as caught:
            await site.apply()
        card = worker("another NIC")
        assert caught.value.hint == f"to allow this: --allow-disconnect {card}"
        await site.apply(Policy(allow_disconnect=frozenset({card})))
        assert await site.judged() == {}
        vms = site.home.vms
        assert set(vms) == set(wanted)
        assert all(vm.is_running for vm in vms.values())
        assert {vm.node for vm in vms.values()} == {"pve1"}
        assert vms[worker("another disk")].config["scsi5"] == "local-lvm:vm-9999-csi,size=1G"
        await _refused(site)


def worker(row: str) -> str:
    return f"demo-w-{WORKERS.index(row) + 1}"


async def _meddle(site: Site) -> None:
    vms = site.home.pve.vms
    here = site.home.vms
    disk = Volume("local-lvm:vm-9999-csi", "pve1", "images", "raw", 1 << 30, vmid=9999)
    site.home.pve.storages.volumes.put(disk.key, disk)
    for row, (change, _, _) in ROWS.items():
        vm = here[worker(row)]
        vms.put(vm.key, replace(vm, config=change(vm.config), running=change(vm.config)))
    stopped, moved, deleted = (str(here[worker(row)].vmid) for row in (STOPPED, MOVED, DELETED))
    for vmid in (stopped, deleted):
        await call(site.home.world, "POST", f"/nodes/pve1/qemu/{vmid}/status/stop")
    await call(site.home.world, "DELETE", f"/nodes/pve1/qemu/{deleted}")
    # A medium on a storage of the host holds the VM there.
    medium = {"ide3": "none,media=cdrom"}
    await call(site.home.world, "PUT", f"/nodes/pve1/qemu/{moved}/config", data=medium)
    how = {"target": "pve2", "online": "1", "with-local-disks": "1"}
    await call(site.home.world, "POST", f"/nodes/pve1/qemu/{moved}/migrate", data=how)


def _expected() -> dict[str, tuple[str, set[str]]]:
    drift = {worker(row): (effect, {what}) for row, (_, effect, what) in ROWS.items() if effect}
    return {
        **drift,
        worker(STOPPED): (ONLINE, {"started"}),
        worker(MOVED): (ONLINE, {"cdrom", "node_name"}),
        worker(DELETED): ("creates", set()),
    }


async def _refused(site: Site) -> None:
    """An EFI disk of another type means a new VM; a changed disk, that a foreign one goes."""
    vm = site.home.vms[worker("another NIC")]
    config = edit("efidisk0", "efitype=4m,", "")(vm.config)
    site.home.pve.vms.put(vm.key, replace(vm, config=config, running=config))
    with pytest.raises(RefusedError, match=r"replaces it \(efi_disk") as caught:
        await site.apply()
    assert caught.value.hint == f"to allow this: --allow-replace {vm.name}"
    site.home.pve.vms.put(vm.key, vm)
    other = site.home.vms[worker("another disk")]
    config = edit("scsi0", "discard=on,", "")(other.config)
    site.home.pve.vms.put(other.key, replace(other, config=config, running=config))
    with pytest.raises(RefusedError, match="would detach scsi5, which talops did not create"):
        await site.apply()
    assert "scsi5" in site.home.vms[other.name].config
