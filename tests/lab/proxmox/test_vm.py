"""A VM from creation to destruction, as a client sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.lab.proxmox.conftest import Pve

VM: dict[str, Any] = {
    "vmid": 101,
    "name": "cp1",
    "bios": "ovmf",
    "machine": "q35",
    "memory": "8192",
    "cores": "4",
    "efidisk0": "file=local-lvm:1,format=raw,efitype=4m,pre-enrolled-keys=0",
    "scsi0": "file=local-lvm:20,format=raw,size=21474836480,aio=io_uring,iothread=1,ssd=1",
    "net0": "model=virtio,bridge=vmbr0,firewall=0,macaddr=BC:24:11:00:00:01,queues=4,tag=20",
    "tags": "talos;controlplane",
}


async def test_a_created_vm_reads_back_normalised(pve: Pve) -> None:
    """What a client sends is stored the way Proxmox stores it."""
    assert await pve.task("POST", "/nodes/pve/qemu", **VM) == "OK"
    config = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert config["scsi0"] == "local-lvm:vm-101-disk-1,aio=io_uring,iothread=1,size=20G,ssd=1"
    assert config["efidisk0"] == "local-lvm:vm-101-disk-0,efitype=4m,pre-enrolled-keys=0,size=4M"
    assert config["net0"] == ("virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=0,queues=4,tag=20")
    assert config["tags"] == "controlplane;talos"
    assert config["cores"] == 4
    assert config["memory"] == "8192"
    assert config["smbios1"].startswith("uuid=")


async def test_a_vm_lives_and_dies(pve: Pve) -> None:
    """Start, refuse to destroy while running, stop, destroy: nothing is left on the storage."""
    await pve.task("POST", "/nodes/pve/qemu", **VM)
    assert await pve.task("POST", "/nodes/pve/qemu/101/status/start") == "OK"
    status = await pve.call("GET", "/nodes/pve/qemu/101/status/current")
    assert status["status"] == "running"
    refused = await pve.send("DELETE", "/nodes/pve/qemu/101/")
    assert refused.reason_phrase == "VM 101 is running - destroy failed"
    assert await pve.task("POST", "/nodes/pve/qemu/101/status/stop") == "OK"
    assert await pve.task("DELETE", "/nodes/pve/qemu/101/", purge=1) == "OK"
    gone = await pve.send("GET", "/nodes/pve/qemu/101/status/current")
    assert gone.status_code == 500
    assert gone.reason_phrase == (
        "Configuration file 'nodes/pve/qemu-server/101.conf' does not exist"
    )
    assert await pve.call("GET", "/nodes/pve/storage/local-lvm/content") == []


async def test_a_taken_id_is_refused(pve: Pve) -> None:
    """Two VMs never share an id."""
    await pve.task("POST", "/nodes/pve/qemu", **VM)
    again = await pve.send("POST", "/nodes/pve/qemu", **VM)
    assert again.status_code == 500
    assert "already exists" in again.reason_phrase
    taken = await pve.send("GET", "/cluster/nextid", vmid=101)
    assert taken.status_code == 400
    assert taken.json()["errors"] == {"vmid": "VM 101 already exists"}


async def test_the_list_is_the_same_packed_or_not(pve: Pve) -> None:
    """A client that accepts gzip gets the kept answer packed; no client gets an old one."""
    plain = {"Accept-Encoding": "identity"}
    for vmid in (101, 102):
        await pve.task("POST", "/nodes/pve/qemu", vmid=vmid)
        packed = await pve.http.get("/cluster/resources?type=vm")
        assert packed.headers["Content-Encoding"] == "gzip"
        unpacked = await pve.http.get("/cluster/resources?type=vm", headers=plain)
        assert "Content-Encoding" not in unpacked.headers
        assert packed.json() == unpacked.json()
        assert vmid in {row["vmid"] for row in packed.json()["data"]}
