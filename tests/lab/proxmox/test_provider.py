"""The lab satisfies the real bpg/proxmox provider."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.proxmox.conftest import running
from tests.lab.proxmox.opentofu import MODULES, prepare
from tests.real_provider import attached, installed

from talops.lab.spec import STORAGES, HypervisorSpec, LabSpec, NodeSpec, StorageSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lab.proxmox.conftest import Pve
    from tests.lab.proxmox.opentofu import Tofu
    from tests.real_provider import Programs

pytestmark = pytest.mark.slow
VM = "proxmox_virtual_environment_vm.cp"
NAS = StorageSpec(
    storage="nas",
    type="nfs",
    content="images,iso,import",
    shared=True,
    options={"server": "127.0.0.9", "export": "/tank"},
)
CLUSTER = LabSpec(
    proxmox=(
        HypervisorSpec(
            name="pve",
            nodes=(NodeSpec(name="pve1"), NodeSpec(name="pve2")),
            storages=(*STORAGES, NAS),
        ),
    )
)
ONE_HOST = sorted(path.name for path in MODULES.iterdir() if path.name != "clones")


async def assert_nothing_left(pve: Pve) -> None:
    hypervisor = pve.world.proxmox.hypervisors["pve"]
    assert hypervisor.vms.keys() == []
    assert [volume.volid for volume in hypervisor.storages.volumes.values()] == []
    assert hypervisor.pools.keys() == hypervisor.mappings.keys() == hypervisor.acl.keys() == []


@pytest.mark.sampled("provider in the lab")
@pytest.mark.parametrize("module", ONE_HOST)
async def test_whole_life(module: str, tmp_path: Path, programs: Programs) -> None:
    """Apply, empty plan, update, empty plan, destroy: and nothing is left."""
    async with running(tmp_path / "lab") as pve:
        tofu = await prepare(pve.world, module, tmp_path / "tf", programs)
        for step in (1, 2):
            await tofu.apply(step=step)
            assert await tofu.changes(step=step) == {}
        await tofu.destroy(step=2)
        await assert_nothing_left(pve)


@pytest.mark.sampled("provider in the lab")
async def test_clones_and_migrations_between_nodes(tmp_path: Path, programs: Programs) -> None:
    """Clones reach the other node over shared and local storages, and come back online."""
    async with running(tmp_path / "lab", CLUSTER) as pve:
        tofu = await prepare(pve.world, "clones", tmp_path / "tf", programs)
        vms = pve.world.proxmox.hypervisors["pve"].vms
        for step, node in ((1, "pve2"), (2, "pve1")):
            await tofu.apply(step=step)
            assert {vms[vmid].node for vmid in ("201", "202")} == {node}
            assert await tofu.changes(step=step) == {}
        await tofu.destroy(step=2)
        await assert_nothing_left(pve)


@pytest.mark.sampled("provider in the lab")
async def test_terraform_agrees(tmp_path: Path, programs: Programs) -> None:
    """Terraform, where it is installed, sees what tofu sees."""
    terraform = shutil.which("terraform")
    if not terraform:
        pytest.skip("no terraform on PATH")
    programs = replace(programs, engine=Path(terraform))
    async with running(tmp_path / "lab") as pve:
        tofu = await prepare(pve.world, "iso", tmp_path / "tf", programs)
        await tofu.apply()
        assert await tofu.changes() == {}
        await tofu.destroy()
        await assert_nothing_left(pve)


@pytest.mark.sampled("provider in the lab")
async def test_import(tmp_path: Path, programs: Programs) -> None:
    """A VM that is removed from the state and imported again needs no change."""
    async with running(tmp_path / "lab") as pve:
        tofu = await prepare(pve.world, "iso", tmp_path / "tf", programs)
        await tofu.apply()
        await tofu.must("state", "rm", VM)
        await tofu.must("import", VM, "pve/101")
        # What is not in Proxmox (how to stop, whether to migrate) comes back as an update of
        # state alone; the VM is neither replaced nor touched.
        before = pve.world.proxmox.hypervisors["pve"].vms["101"]
        assert (await tofu.changes()).get(VM, "update") == "update"
        await tofu.apply()
        assert pve.world.proxmox.hypervisors["pve"].vms["101"].config == before.config
        assert await tofu.changes() == {}


Config = dict[str, Any]


def put(**values: Any) -> Callable[[Config], Config]:
    return lambda config: {**config, **values}


def drop(*keys: str) -> Callable[[Config], Config]:
    return lambda config: {key: value for key, value in config.items() if key not in keys}


def edit(key: str, old: str, new: str) -> Callable[[Config], Config]:
    def change(config: Config) -> Config:
        assert old in config[key]
        return {**config, key: config[key].replace(old, new)}

    return change


SAME: dict[str, str] = {}
DRIFT, REPLACE = {VM: "update"}, {VM: "delete+create"}
OUT_OF_BAND: dict[str, tuple[Callable[[Config], Config], dict[str, str]]] = {
    "agent is 0": (put(agent="0"), SAME),
    "agent gone": (drop("agent"), DRIFT),
    "startup gone": (drop("startup"), DRIFT),
    "startup in part": (put(startup="order=1"), DRIFT),
    "cpu gone": (drop("cpu"), DRIFT),
    "cpu in long form": (put(cpu="cputype=host"), SAME),
    "machine pinned": (put(machine="pc-q35-9.2"), DRIFT),
    "boot gone": (drop("boot"), DRIFT),
    "boot has more": (put(boot="order=scsi0;ide3;net0"), DRIFT),
    "ostype gone": (drop("ostype"), DRIFT),
    "tags in another order": (put(tags="talos;controlplane"), SAME),
    "tags with commas": (put(tags="controlplane,talos"), DRIFT),
    "description with newline": (put(description="step 1\n"), DRIFT),
    "efitype gone": (edit("efidisk0", "efitype=4m,", ""), REPLACE),
    "no enrolled keys named": (edit("efidisk0", "pre-enrolled-keys=0,", ""), SAME),
    "cdrom ejected": (put(ide3="none,media=cdrom"), DRIFT),
    "cdrom gone": (drop("ide3"), DRIFT),
    "onboot gone": (drop("onboot"), DRIFT),
    "defaults gone": (drop("numa", "scsihw", "keyboard", "tablet", "acpi", "protection"), SAME),
    "disk options gone": (edit("scsi0", "aio=io_uring,backup=1,cache=none,", ""), SAME),
    "disk size in MiB": (edit("scsi0", "size=20G", "size=20481M"), SAME),
    "MAC in lower case": (edit("net0", "BC:24:11", "bc:24:11"), DRIFT),
    "firewall not named": (edit("net0", "firewall=0,", ""), SAME),
    "extra disk": (put(scsi1="local-lvm:vm-101-disk-1,size=5G"), SAME),
    "extra NIC": (put(net1="virtio=BC:24:11:00:00:99,bridge=vmbr0"), DRIFT),
    "serial gone": (drop("serial0"), DRIFT),
    "vga added": (put(vga="std"), SAME),
    "hotplug set": (put(hotplug="disk,network,usb"), SAME),
    "onboot as text": (put(onboot="1"), DRIFT),
}


@pytest.mark.sampled("provider in the lab")
async def test_out_of_band_changes(tmp_path: Path, programs: Programs) -> None:
    """Every change behind tofu's back shows in the next plan as it would on a real host."""
    async with running(tmp_path / "lab") as pve:
        plain = await prepare(pve.world, "iso", tmp_path / "tf", programs)
        await plain.apply()
        async with attached(installed(plain.directory), plain.environment) as how:
            environment = {**plain.environment, "TF_REATTACH_PROVIDERS": how}
            await planned_changes(pve, replace(plain, environment=environment))


async def planned_changes(pve: Pve, tofu: Tofu) -> None:
    vms = pve.world.proxmox.hypervisors["pve"].vms
    vm = vms["101"]
    seen = {}
    for name, (change, _) in OUT_OF_BAND.items():
        vms.put("101", replace(vm, config=change(vm.config)))
        seen[name] = await tofu.changes()
    assert seen == {name: expected for name, (_, expected) in OUT_OF_BAND.items()}
    vms.put("101", replace(vm, config={**vm.config, "cores": "4"}))
    assert "cannot unmarshal" in (await tofu.changes())["error"]


@pytest.mark.sampled("provider in the lab")
async def test_out_of_band_power_and_place(tmp_path: Path, programs: Programs) -> None:
    """A VM that was stopped is started, one that was deleted is created again."""
    async with running(tmp_path / "lab") as pve:
        tofu = await prepare(pve.world, "iso", tmp_path / "tf", programs)
        await tofu.apply()
        await pve.task("POST", "/nodes/pve/qemu/101/status/stop")
        assert await tofu.changes() == DRIFT
        await tofu.apply()
        status = await pve.call("GET", "/nodes/pve/qemu/101/status/current")
        assert status["status"] == "running"
        await pve.task("POST", "/nodes/pve/qemu/101/status/stop")
        await pve.task("DELETE", "/nodes/pve/qemu/101")
        assert await tofu.changes() == {VM: "create"}
        await tofu.apply()
        assert await tofu.changes() == {}
