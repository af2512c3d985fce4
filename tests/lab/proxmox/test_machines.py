"""What the lab's Proxmox tells the runtime of the guests, and what guests tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.proxmox.conftest import Pve

from talops.lab.machine import Disk, Machine, Nic, StaticNetwork
from talops.lab.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

EMPTY = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
VM = {
    "vmid": 101,
    "name": "cp1",
    "bios": "ovmf",
    "cores": 4,
    "memory": 8192,
    "smbios1": "uuid=11111111-2222-3333-4444-555555555555",
    "efidisk0": "local-lvm:1,efitype=4m,pre-enrolled-keys=1",
    "tpmstate0": "local-lvm:1,version=v2.0",
    "ide3": "local:iso/nocloud-amd64.iso,media=cdrom",
    "ide2": "local-lvm:cloudinit",
    "ipconfig0": "ip=127.9.10.11/24,gw=127.9.10.1",
    "nameserver": "127.9.0.53 127.9.0.54",
    "searchdomain": "lab.internal",
    "scsi0": "local-lvm:20,serial=root",
    "scsi1": "local-lvm:0,import-from=local:import/nocloud-amd64.raw",
    "boot": "order=scsi1;scsi0;ide3",
    "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20,mtu=9000",
    "hostpci0": "mapping=gpu0",
}
UUID = "11111111-2222-3333-4444-555555555555"


class Recorder:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.on: dict[str, Machine] = {}

    async def power_on(self, machine: Machine) -> None:
        self.seen.append(f"on {machine.vmid}")
        self.on[machine.uuid] = machine

    async def power_off(self, uuid: str, *, graceful: bool) -> None:
        self.seen.append(f"off {'gently' if graceful else 'hard'}")
        self.on.pop(uuid, None)

    async def destroy(self, uuid: str) -> None:
        self.seen.append(f"gone {uuid}")


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def pve(tmp_path: Path, recorder: Recorder) -> AsyncIterator[Pve]:
    world = World(tmp_path / "lab")
    world.proxmox.machines = recorder
    async with world:
        client = Pve(world)
        async with client.http:
            factory = world.factory.endpoints()["url"]
            for name, content in (("nocloud-amd64.iso", "iso"), ("nocloud-amd64.raw", "import")):
                given = {"url": f"{factory}/image/{EMPTY}/v1.12.4/{name}", "content": content}
                path = "/nodes/pve/storage/local/download-url"
                assert await client.task("POST", path, filename=name, **given) == "OK"
            mapping = "id=10de:2204,iommugroup=14,node=pve,path=0000:01:00.0,subsystem-id=1458:403b"
            await client.call("POST", "/cluster/mapping/pci", id="gpu0", map=mapping)
            yield client


async def test_a_machine_as_its_guest_sees_it(pve: Pve, recorder: Recorder) -> None:
    """Boot order, images, cloud-init network, firmware and devices, all resolved."""
    assert await pve.task("POST", "/nodes/pve/qemu", **VM) == "OK"
    assert await pve.task("POST", "/nodes/pve/qemu/101/status/start") == "OK"
    machine = recorder.on[UUID]
    image, cdrom = machine.disks[0].image, machine.cdrom
    assert image is not None
    assert cdrom is not None
    assert b'"version": "v1.12.4"' in image.read_bytes()
    assert b'"kind": "iso"' in cdrom.read_bytes()
    assert machine == Machine(
        uuid=UUID,
        vmid=101,
        node="pve",
        name="cp1",
        cores=4,
        memory=8 << 30,
        nics=(Nic("BC:24:11:00:00:01", "vmbr0", 20, 9000),),
        disks=(Disk("scsi1", 4 << 30, "", image), Disk("scsi0", 20 << 30, "root")),
        cdrom=cdrom,
        network=StaticNetwork(
            "127.9.10.11/24", "127.9.10.1", ("127.9.0.53", "127.9.0.54"), "lab.internal"
        ),
        uefi=True,
        secureboot=True,
        tpm=True,
        pci=("0000:01:00.0",),
    )


async def test_power_is_passed_on(pve: Pve, recorder: Recorder) -> None:
    """On, gently off, on again, hard off, gone: in that order."""
    await pve.task("POST", "/nodes/pve/qemu", **VM)
    for verb in ("start", "shutdown", "start", "reset", "stop"):
        assert await pve.task("POST", f"/nodes/pve/qemu/101/status/{verb}") == "OK"
    await pve.task("DELETE", "/nodes/pve/qemu/101")
    assert recorder.seen == [
        "on 101",
        "off gently",
        "on 101",
        "off hard",
        "on 101",
        "off hard",
        f"gone {UUID}",
    ]


async def test_the_imported_image_outlives_its_source(pve: Pve, recorder: Recorder) -> None:
    """A disk that was imported still boots when the image file does not exist any more."""
    await pve.task("POST", "/nodes/pve/qemu", **VM)
    await pve.task("DELETE", "/nodes/pve/storage/local/content/local:import/nocloud-amd64.raw")
    await pve.task("POST", "/nodes/pve/qemu/101/template")
    assert await pve.task("POST", "/nodes/pve/qemu/101/clone", newid=102) == "OK"
    await pve.call("PUT", "/nodes/pve/qemu/102/config", delete="hostpci0,ide3")
    assert await pve.task("POST", "/nodes/pve/qemu/102/status/start") == "OK"
    (machine,) = recorder.on.values()
    assert machine.disks[0].image is not None
    assert machine.disks[0].image.exists()
    assert machine.uuid != UUID


async def test_a_guest_that_switches_itself_off(pve: Pve) -> None:
    """Is stopped for every client, without a task."""
    await pve.task("POST", "/nodes/pve/qemu", **VM)
    await pve.task("POST", "/nodes/pve/qemu/101/status/start")
    await pve.world.proxmox.guest_powered_off(UUID)
    status = await pve.call("GET", "/nodes/pve/qemu/101/status/current")
    assert status["status"] == "stopped"


async def test_running_vms_come_back_with_the_lab(
    pve: Pve, recorder: Recorder, tmp_path: Path
) -> None:
    """After a restart of the lab they are powered on again."""
    await pve.task("POST", "/nodes/pve/qemu", **VM)
    await pve.task("POST", "/nodes/pve/qemu/101/status/start")
    await pve.world.proxmox.stop()
    assert recorder.seen == ["on 101", "off hard"]
    await pve.world.proxmox.start()
    assert recorder.seen == ["on 101", "off hard", "on 101"]
    assert recorder.on[UUID].name == "cp1"
