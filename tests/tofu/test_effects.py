"""The plan judge beside the real provider: what it says of a change is what happens to the VM."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.lab.proxmox.conftest import running
from tests.lab.proxmox.opentofu import initialised
from tests.tofu.one_vm import COMMON, SPEC, one

from talops.tofu.judge import judge
from talops.tofu.plan import read_plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve
    from tests.lab.proxmox.opentofu import Tofu
    from tests.real_provider import Programs

    from talops.tofu.judge import Judged

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NET, SERIAL = "  network_device {\n", "serial_device {}"
CLOUD_INIT = """  initialization {
    datastore_id = "local-lvm"
    ip_config {
      ipv4 {
        address = "10.0.0.5/24"
        gateway = "10.0.0.1"
      }
    }
  }
"""
GPU = """serial_device {}
  hostpci {
    device  = "hostpci0"
    mapping = "gpu0"
    pcie    = true
  }"""
SECOND_NIC = """  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:0E:TWO"
  }
"""
SECOND_DISK = """  disk {
    datastore_id = "local-lvm"
    interface    = "scsi1"
    size         = 1
  }
"""
ONLINE, RESTARTS = "online", "restarts"
# The VM keeps running, but the connections of its node may end: judged and ordered like a restart.
PLUGGED = {"vlan", "second-nic"}

# What is changed in the text of the VM → what that does to it while it runs.
ROWS: dict[str, tuple[list[tuple[str, str]], str]] = {
    "cores": ([("cores = 2", "cores = 1")], RESTARTS),
    "cpu-type": ([('type  = "host"', 'type  = "x86-64-v3"')], RESTARTS),
    "memory": ([("= 2048", "= 1024")], RESTARTS),
    "boot-order": ([('["scsi0", "ide3"]', '["ide3", "scsi0"]')], RESTARTS),
    "machine": ([('= "q35"', '= "pc-q35-9.2"')], RESTARTS),
    "scsi-hardware": ([('"virtio-scsi-single"', '"virtio-scsi-pci"')], RESTARTS),
    "operating-system": ([('type = "l26"', 'type = "other"')], RESTARTS),
    "second-serial": ([(SERIAL, f"{SERIAL}\n  {SERIAL}")], RESTARTS),
    "vga": ([(SERIAL, f'{SERIAL}\n  vga {{\n    type = "qxl"\n  }}')], RESTARTS),
    "gpu": ([(SERIAL, GPU)], RESTARTS),
    "tpm": ([(SERIAL, f"{SERIAL}\n  tpm_state {{}}")], RESTARTS),
    "cloud-init": ([(NET, CLOUD_INIT + NET)], RESTARTS),
    "efi-elsewhere": ([('"local-lvm"\n    type', '"thin"\n    type')], RESTARTS),
    "disk-elsewhere": ([('"local-lvm"\n    interface', '"thin"\n    interface')], RESTARTS),
    "disk-aio": ([("size         = 2", 'size         = 2\n    aio = "threads"')], RESTARTS),
    "off": ([("migrate         = true", "migrate = true\n  started = false")], RESTARTS),
    "tags": ([('["talos", "worker"]', '["talos"]')], ONLINE),
    "description": ([('"a node"', '"the node"')], ONLINE),
    "name": ([('= "name"', '= "renamed"')], ONLINE),
    "startup": ([("up_delay   = 30", "up_delay   = 40")], ONLINE),
    "on-boot": ([("on_boot         = true", "on_boot         = false")], ONLINE),
    "protection": ([("migrate         = true", "migrate = true\n  protection = true")], ONLINE),
    "pool": ([("migrate         = true", 'migrate = true\n  pool_id = "k8s"')], ONLINE),
    "no-migration": ([("migrate         = true", "migrate = false")], ONLINE),
    "destroy-later": ([("stop_on_destroy = true", "stop_on_destroy = false")], ONLINE),
    "vlan": ([("vlan_id     = 20", "vlan_id     = 30")], RESTARTS),
    "second-nic": ([("  depends_on", f"{SECOND_NIC}  depends_on")], RESTARTS),
    "disk-option": ([('discard      = "on"', 'discard      = "ignore"')], ONLINE),
    "disk-ssd": ([("ssd          = true", "ssd          = false")], ONLINE),
    "disk-iothread": ([("iothread     = true", "iothread     = false")], ONLINE),
    "disk-growth": ([("size         = 2", "size         = 3")], ONLINE),
    "second-disk": ([(NET, SECOND_DISK + NET)], ONLINE),
}
NUMBERS = {name: 200 + number for number, name in enumerate(ROWS)}
POWER = {"qmstop", "qmshutdown", "qmreboot", "qmreset"}


def texts(*, changed: bool) -> str:
    return COMMON + "".join(_text(name, changed=changed) for name in ROWS)


def _text(name: str, *, changed: bool) -> str:
    return one(name, NUMBERS[name], *(ROWS[name][0] if changed else ()))


def effects(found: list[Judged]) -> dict[str, str]:
    return {each.address.rpartition(".")[2]: str(each.effect) for each in found}


def powered(pve: Pve) -> set[str]:
    """Tasks that take a VM down, by their ids."""
    tasks = pve.world.proxmox.hypervisors["pve"].tasks.table.values()
    return {task.upid for task in tasks if task.kind in POWER}


async def judged(tofu: Tofu, attached: Mapping[int, frozenset[str]]) -> dict[str, str]:
    """What the judge says of the plan that is saved as `plan`."""
    await tofu.must("plan", "-out=plan")
    plan = read_plan(json.loads(await tofu.must("show", "-json", "plan")))
    return effects(judge(plan, attached))


@pytest.mark.sampled("layers in the lab")
async def test_the_judge_says_what_the_provider_does(tmp_path: Path, programs: Programs) -> None:
    """Every row in one plan: restarted are those VMs, and only those, that it said would be."""
    directory = tmp_path / "tf"
    directory.mkdir()
    main = directory / "main.tf"
    main.write_text(texts(changed=False))
    async with running(tmp_path / "lab", SPEC) as pve:
        tofu = await initialised(pve.world, directory, programs)
        await tofu.apply()
        assert await tofu.changes() == {}
        main.write_text(texts(changed=True))
        before = powered(pve)
        attached = {number: frozenset({"scsi0"}) for number in NUMBERS.values()}
        expected = {name: effect for name, (_, effect) in ROWS.items()}
        assert await judged(tofu, attached) == expected
        await tofu.must("apply", "plan")
        down = {upid.split(":")[6] for upid in powered(pve) - before}
        happened = {n: RESTARTS if str(i) in down else ONLINE for n, i in NUMBERS.items()}
        assert happened == {**expected, **dict.fromkeys(PLUGGED, ONLINE)}
        assert await tofu.changes() == {}


def disks(pve: Pve, number: int) -> dict[str, str]:
    """Slot → volume, the unused ones too."""
    config = pve.world.proxmox.hypervisors["pve"].vms[str(number)].config
    slots = (key for key in config if key.startswith(("scsi", "unused")) and key != "scsihw")
    return {slot: str(config[slot]).partition(",")[0] for slot in slots}


# A guest without an operating system never lets go of a disk: these VMs are off.
OFF = ("migrate         = true", "migrate = true\n  started = false")
TWO_DISKS = (NET, SECOND_DISK + NET)
GROWN = ("size         = 2", "size         = 3")
IN_FRONT = ("  disk {\n", f"{SECOND_DISK}  disk {{\n")


@pytest.mark.sampled("layers in the lab")
async def test_the_disks_that_the_provider_takes_away(tmp_path: Path, programs: Programs) -> None:
    """Why the judge is as strict as it is: none of these says so in the plan that people read."""
    directory = tmp_path / "tf"
    directory.mkdir()
    main = directory / "main.tf"
    gone, before = one("gone", 202, OFF, TWO_DISKS), one("in-front", 203, OFF)
    main.write_text(COMMON + one("foreign", 201, OFF) + gone + before)
    async with running(tmp_path / "lab", SPEC) as pve:
        tofu = await initialised(pve.world, directory, programs)
        await tofu.apply()
        await pve.call("PUT", "/nodes/pve/qemu/201/config", scsi5="local-lvm:1")
        assert await tofu.changes() == {}, "a disk of somebody else is not in the plan"
        foreign, in_front = one("foreign", 201, OFF, GROWN), one("in-front", 203, OFF, IN_FRONT)
        main.write_text(COMMON + foreign + one("gone", 202, OFF) + in_front)
        attached = {number: frozenset({*disks(pve, number)}) for number in (201, 202, 203)}
        removes = dict.fromkeys(("foreign", "gone", "in-front"), "removes a disk")
        volumes = {number: disks(pve, number) for number in (201, 202)}
        assert await judged(tofu, attached) == removes
        await tofu.must("apply", "plan")
        assert disks(pve, 201)["unused0"] == volumes[201]["scsi5"]
        assert disks(pve, 202)["unused0"] == volumes[202]["scsi1"]
        shared = disks(pve, 203)
        assert shared["scsi0"] == shared["scsi1"], "one volume in two slots"
