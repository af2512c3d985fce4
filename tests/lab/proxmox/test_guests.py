"""Guests without an operating system, VMs larger than their host: recorded on Proxmox VE 9.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.proxmox.conftest import running

from talops.lab.spec import HypervisorSpec, LabSpec, NodeSpec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve

VM = "/nodes/pve/qemu/101"


async def test_an_empty_guest_lets_go_of_nothing(pve: Pve) -> None:
    """Its disk stays attached until it is switched off, and is unused from then on."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0="local-lvm:1", virtio1="local-lvm:1")
    await pve.task("POST", f"{VM}/status/start")
    refused = await pve.send("PUT", f"{VM}/config", delete="virtio1")
    assert refused.status_code == 400
    problem = "error on hot-unplugging device 'virtio1' - still busy in guest?"
    assert refused.json()["errors"] == {"virtio1": f"hotplug problem - {problem}\n"}
    assert "virtio1" in await pve.call("GET", f"{VM}/config", current=1)
    await pve.task("POST", f"{VM}/status/stop")
    config = await pve.call("GET", f"{VM}/config")
    assert config["unused0"] == "local-lvm:vm-101-disk-1"
    assert "virtio1" not in config


async def test_a_controller_goes_with_its_last_disk(pve: Pve) -> None:
    """One of two SCSI disks is unplugged without the guest's help."""
    disks = {"scsi0": "local-lvm:1", "scsi1": "local-lvm:1"}
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, **disks)
    await pve.task("POST", f"{VM}/status/start")
    assert (await pve.send("PUT", f"{VM}/config", delete="scsi1")).is_success
    refused = await pve.send("PUT", f"{VM}/config", delete="scsi0")
    assert "'scsihw0' - still busy in guest?" in refused.json()["errors"]["scsi0"]


async def test_an_empty_guest_hears_no_shutdown(pve: Pve) -> None:
    """Only forceStop ends it."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101)
    await pve.task("POST", f"{VM}/status/start")
    deaf = "VM quit/powerdown failed - got timeout"
    assert await pve.task("POST", f"{VM}/status/shutdown") == deaf
    assert await pve.task("POST", f"{VM}/status/shutdown", forceStop=1) == "OK"


async def test_a_paused_guest_is_not_shut_down(pve: Pve) -> None:
    """It would hear of it when it goes on."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101)
    await pve.task("POST", f"{VM}/status/start")
    await pve.task("POST", f"{VM}/status/suspend")
    assert (await pve.call("GET", f"{VM}/status/current"))["qmpstatus"] == "paused"
    refused = await pve.send("POST", f"{VM}/status/shutdown")
    assert refused.reason_phrase == "VM is paused - cannot shutdown"
    await pve.task("POST", f"{VM}/status/resume")
    assert (await pve.call("GET", f"{VM}/status/current"))["qmpstatus"] == "running"


async def test_a_vm_is_not_wider_than_its_host(tmp_path: Path) -> None:
    """It is made and shown with the host's processors, but does not start."""
    spec = LabSpec(proxmox=(HypervisorSpec(name="pve", nodes=(NodeSpec(name="pve", cores=2),)),))
    async with running(tmp_path / "lab", spec) as pve:
        await pve.task("POST", "/nodes/pve/qemu", vmid=101, cores=4)
        assert (await pve.call("GET", f"{VM}/status/current"))["cpus"] == 2
        ended = await pve.task("POST", f"{VM}/status/start")
        assert ended == "MAX 2 vcpus allowed per VM on this node"
