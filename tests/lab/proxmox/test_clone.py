"""Templates, clones and moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.proxmox.conftest import running

from talops.lab.faults import parse
from talops.lab.spec import STORAGES, HypervisorSpec, LabSpec, NodeSpec, StorageSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve

MORE = (
    StorageSpec(storage="files", type="dir", content="images", options={"path": "/srv"}),
    StorageSpec(storage="tank", type="zfspool", content="images", options={"pool": "tank"}),
    StorageSpec(storage="nas", type="nfs", content="images", shared=True),
)
SPEC = LabSpec(
    proxmox=(
        HypervisorSpec(
            name="pve",
            nodes=(NodeSpec(name="pve"), NodeSpec(name="pve2")),
            storages=(*STORAGES, *MORE),
        ),
    )
)
SOURCE = "/nodes/pve/qemu/9000"


@pytest.fixture
async def pve(tmp_path: Path) -> AsyncIterator[Pve]:
    async with running(tmp_path / "lab", SPEC) as client:
        yield client


async def make(pve: Pve, disk: str = "local-lvm:4", *, template: bool = True, **more: Any) -> None:
    given = {"vmid": 9000, "name": "base", "scsi0": disk, "net0": "virtio,bridge=vmbr0", **more}
    assert await pve.task("POST", "/nodes/pve/qemu", **given) == "OK"
    if template:
        assert await pve.task("POST", f"{SOURCE}/template") == "OK"


async def clone(pve: Pve, **more: Any) -> str:
    return await pve.task("POST", f"{SOURCE}/clone", **{"newid": 101, "name": "one", **more})


@pytest.mark.parametrize(
    ("disk", "base", "linked"),
    [
        ("local-lvm:4", "local-lvm:base-9000-disk-0", "local-lvm:vm-101-disk-0"),
        ("tank:4", "tank:base-9000-disk-0", "tank:base-9000-disk-0/vm-101-disk-0"),
        (
            "files:4,format=qcow2",
            "files:9000/base-9000-disk-0.qcow2",
            "files:9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2",
        ),
    ],
)
async def test_linked_clones(pve: Pve, disk: str, base: str, linked: str) -> None:
    """They take no space, and keep the template from being removed where they stand on it."""
    await make(pve, disk)
    assert (await pve.call("GET", f"{SOURCE}/config"))["scsi0"] == f"{base},size=4G"
    assert await clone(pve) == "OK"
    config = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert config["scsi0"] == f"{linked},size=4G"
    if not disk.startswith("local-lvm"):  # thin snapshots outlive their origin
        assert "still in use by linked cloned" in await pve.task("DELETE", SOURCE)
    assert await pve.task("DELETE", "/nodes/pve/qemu/101") == "OK"
    assert await pve.task("DELETE", SOURCE) == "OK"
    assert pve.world.proxmox.hypervisors["pve"].storages.volumes.keys() == []


async def test_a_clone_of_a_raw_file_is_qcow2(pve: Pve) -> None:
    """`clone_image` of PVE::Storage::Plugin: the base may have any format, the clone has one."""
    await make(pve, "files:4")
    assert await clone(pve) == "OK"
    config = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert config["scsi0"] == "files:9000/base-9000-disk-0.raw/101/vm-101-disk-0.qcow2,size=4G"


async def test_a_full_clone_is_its_own(pve: Pve) -> None:
    """A new identity, a new MAC, its own disk, anywhere."""
    await make(pve, tags="x", onboot=1)
    assert await clone(pve, full=1, storage="tank", description="copy") == "OK"
    before = await pve.call("GET", f"{SOURCE}/config")
    after = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert after["scsi0"] == "tank:vm-101-disk-0,size=4G"
    assert (after["name"], after["description"], after["tags"]) == ("one", "copy", "x")
    assert "template" not in after
    assert not {before[k] for k in ("smbios1", "vmgenid", "net0")} & {
        after[k] for k in ("smbios1", "vmgenid", "net0")
    }


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"newid": 9000}, "unable to create VM 9000: config file already exists"),
        ({"target": "pve2"}, "can't clone VM to node 'pve2' (VM uses local storage)"),
        ({"target": "nowhere"}, "no such cluster node 'nowhere'"),
        ({"storage": "tank"}, "parameter 'storage' not allowed for linked clones"),
        ({"pool": "none"}, "Permission check failed (pool 'none' does not exist)"),
    ],
)
async def test_clones_that_are_refused(pve: Pve, more: dict[str, Any], reason: str) -> None:
    """At once, with no trace."""
    await make(pve)
    refused = await pve.send("POST", f"{SOURCE}/clone", **{"newid": 101, **more})
    assert refused.reason_phrase == reason
    assert [vm["vmid"] for vm in await pve.call("GET", "/nodes/pve/qemu")] == [9000]


async def test_cds_and_tpms_of_linked_clones(pve: Pve) -> None:
    """A CD is shared; TPM state is never linked."""
    await make(pve, ide3="none,media=cdrom", tpmstate0="local-lvm:1,version=v2.0")
    assert await clone(pve) == "OK"
    config = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert config["ide3"] == "none,media=cdrom"
    assert config["tpmstate0"].startswith("local-lvm:vm-101-disk-")


async def test_a_failed_clone_leaves_nothing(pve: Pve) -> None:
    """The copied disk and the half VM go."""
    await make(pve)
    pve.world.faults.add(parse({"kind": "task", "task": "qmclone", "step": "copy"}))
    assert await clone(pve, full=1) == "clone failed: injected failure at step 'copy'"
    assert [vm["vmid"] for vm in await pve.call("GET", "/nodes/pve/qemu")] == [9000]
    assert len(await pve.call("GET", "/nodes/pve/storage/local-lvm/content")) == 1


async def test_across_nodes_over_shared_storage(pve: Pve) -> None:
    """The new VM is on the other node."""
    await make(pve, "nas:4,format=qcow2")
    assert await clone(pve, full=1, target="pve2") == "OK"
    assert (await pve.call("GET", "/nodes/pve2/qemu/101/config"))["name"] == "one"


async def test_online_migration_with_local_disks(pve: Pve) -> None:
    """Disks move along, the VM keeps running, the old node does not list it any more."""
    await make(pve, template=False, ide2="local-lvm:cloudinit")
    await pve.task("POST", f"{SOURCE}/status/start")
    move = {"target": "pve2", "online": 1}
    refused = await pve.task("POST", f"{SOURCE}/migrate", **move)
    assert "without with-local-disks" in refused
    assert await pve.task("POST", f"{SOURCE}/migrate", **move, **{"with-local-disks": 1}) == "OK"
    assert (await pve.send("GET", f"{SOURCE}/config")).status_code == 500
    moved = await pve.call("GET", "/nodes/pve2/qemu/9000/status/current")
    assert moved["status"] == "running"
    assert len(await pve.call("GET", "/nodes/pve2/storage/local-lvm/content")) == 2
    assert await pve.call("GET", "/nodes/pve/storage/local-lvm/content") == []


async def test_a_failed_migration_changes_nothing(pve: Pve) -> None:
    """The VM stays where it was, unlocked."""
    await make(pve, template=False)
    pve.world.faults.add(parse({"kind": "task", "task": "qmigrate", "step": "switch-over"}))
    await pve.task("POST", f"{SOURCE}/migrate", target="pve2")
    assert "lock" not in await pve.call("GET", f"{SOURCE}/config")
    assert await pve.call("GET", "/nodes/pve2/storage/local-lvm/content") == []


async def test_templates_do_not_run(pve: Pve) -> None:
    """Nor are they made of running VMs."""
    await make(pve)
    ended = await pve.task("POST", f"{SOURCE}/status/start")
    assert ended == "you can't start a vm if it's a template"
