"""Order of operations that Proxmox enforces: snapshots, clones, disks, storages, HA.

The functions of Proxmox' Perl code that decide are named above each part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.proxmox.conftest import running
from tests.lab.proxmox.stories import told

from talops.lab.spec import STORAGES, HypervisorSpec, LabSpec, NodeSpec, StorageSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve
    from tests.lab.proxmox.stories import Row

FILES = StorageSpec(
    storage="files", type="dir", content="images,iso", options={"path": "/var/lib/files"}
)
THICK = StorageSpec(storage="thick", type="lvm", content="images", options={"vgname": "vg"})
NODE = NodeSpec(name="pve", cores=2)
SPEC = LabSpec(
    proxmox=(HypervisorSpec(name="pve", nodes=(NODE,), storages=(*STORAGES, FILES, THICK)),)
)
CHANGED = "detected modified configuration - file changed by other user? Try again."
# `PVE::AbstractConfig: __snapshot_prepare, snapshot_delete, snapshot_rollback; PVE::API2::Qemu:`
# snapshot, template, clone_vm, move_vm_disk; PVE::QemuConfig: has_feature.
SNAPSHOTS: list[Row] = [
    ("POST VM/", {"vmid": 100, "scsi0": "local-lvm:1", "net0": "virtio,bridge=vmbr0"}, "OK"),
    ("POST VM/100/snapshot", {"snapname": "current"}, "500 unable to use snapshot name 'current'"),
    ("POST VM/100/snapshot", {"snapname": "1a"}, "400 snapname: invalid format - invalid config"),
    ("POST VM/100/snapshot", {"snapname": "s1", "description": "one"}, "OK"),
    ("POST VM/100/snapshot", {"snapname": "s1"}, "snapshot name 's1' already used"),
    ("GET VM/100/snapshot/s9/config", {}, "500 snapshot 's9' does not exist"),
    ("GET VM/100/config", {"snapshot": "s9"}, "500 snapshot 's9' does not exist"),
    ("POST VM/100/clone", {"newid": 101, "snapname": "s9"}, "500 snapshot 's9' does not exist"),
    ("POST VM/100/template", {}, "500 unable to create template, because VM contains snapshots"),
    ("PUT VM/100/config", {"name": "later", "scsi1": "local-lvm:1"}, "OK"),
    ("POST VM/100/snapshot", {"snapname": "s2"}, "OK"),
    ("POST VM/100/snapshot/s9/rollback", {}, "snapshot 's9' does not exist"),
    ("POST VM/100/snapshot/s1/rollback", {}, "OK"),
    ("DELETE VM/100/snapshot/s9", {}, "snapshot 's9' does not exist"),
    ("DELETE VM/100/snapshot/s2", {}, "OK"),
    ("DELETE VM/100/snapshot/s1", {}, "OK"),
    ("POST VM/100/template", {}, "OK"),
    ("POST VM/100/snapshot", {"snapname": "s3"}, "you can't take a snapshot if it's a template"),
    ("POST VM/", {"vmid": 110, "scsi0": "files:1"}, "OK"),
    ("POST VM/110/snapshot", {"snapname": "s1"}, "snapshot feature is not available"),
]
# `PVE::Storage::Plugin, LVMPlugin, LvmThinPlugin: volume_has_feature, clone_image.`
CLONES: list[Row] = [
    ("POST VM/", {"vmid": 100, "scsi0": "files:1"}, "OK"),
    ("POST VM/", {"vmid": 200, "scsi0": "thick:1"}, "OK"),
    (
        "POST VM/100/clone",
        {"newid": 101, "full": 0},
        "500 Linked clone feature is not supported for 'files:100/vm-100-disk-0.raw' (scsi0)",
    ),
    ("POST VM/100/template", {}, "OK"),
    ("POST VM/200/template", {}, "OK"),
    ("POST VM/100/clone", {"newid": 101, "full": 0}, "OK"),
    (
        "POST VM/200/clone",
        {"newid": 201},
        "500 Linked clone feature is not supported for 'thick:vm-200-disk-0' (scsi0)",
    ),
    ("DELETE VM/100", {}, "base volume 'files:100/base-100-disk-0.raw' is still in use"),
]
# `PVE::API2::Qemu: create_disks, move_vm_disk; PVE::QemuServer: vmconfig_register_unused_drive.`
DISKS: list[Row] = [
    ("POST VM/", {"vmid": 100, "scsi0": "files:1", "ide2": "files:cloudinit"}, "OK"),
    (
        "PUT VM/100/config",
        {"ide1": "files:cloudinit"},
        "500 ide1 - cloud-init drive is already attached at 'ide2'",
    ),
    ("PUT VM/100/config", {"ide2": "none,media=cdrom"}, "OK"),
    ("PUT VM/100/config", {"ide1": "files:cloudinit"}, "OK"),
    (
        "POST VM/100/move_disk",
        {"disk": "scsi0", "storage": "local-lvm", "digest": "0" * 40},
        f"500 {CHANGED}",
    ),
    ("PUT VM/100/resize", {"disk": "scsi0", "size": "+1K"}, "OK"),
    ("POST VM/100/move_disk", {"disk": "scsi0", "storage": "local-lvm"}, "OK"),
    ("POST VM/100/move_disk", {"disk": "ide1", "storage": "local-lvm"}, "OK"),
]
# `PVE::API2::Storage::Config, Content; PVE::Storage::Plugin: alloc_image.`
STORAGE: list[Row] = [
    (
        "POST /storage",
        {"storage": "nas", "type": "nfs", "server": "a.lab", "export": "/x", "disable": 1},
        "OK",
    ),
    (
        "PUT /storage/nas",
        {"disable": 1, "digest": "0" * 40},
        f"500 update storage failed: {CHANGED}",
    ),
    (
        "POST NODE/storage/files/content",
        {"vmid": 1000, "filename": "a/b", "size": "1M"},
        "500 unable to parse volume filename 'a/b'",
    ),
    (
        "POST NODE/storage/files/content",
        {"vmid": 1000, "filename": "vm-1000-disk-0.raw", "size": "1M"},
        "OK",
    ),
    (
        "POST NODE/storage/files/content",
        {"vmid": 1000, "filename": "vm-1000-disk-0.raw", "size": "1M"},
        "500 disk image '/var/lib/files/images/1000/vm-1000-disk-0.raw' already exists",
    ),
    ("POST NODE/hosts", {"data": "x", "digest": "0" * 40}, f"500 {CHANGED}"),
]
# `PVE::API2::HA::Resources, PVE::HA::Config: parse_sid, update_resources_config.`
HA: list[Row] = [
    ("POST VM/", {"vmid": 100}, "OK"),
    ("POST /cluster/ha/resources", {"sid": "100"}, "OK"),
    (
        "POST /cluster/ha/resources",
        {"sid": "vm:100"},
        "500 create resource failed: resource ID 'vm:100' already defined",
    ),
    ("POST /cluster/ha/resources", {"sid": "vm:100", "type": "ct"}, "500 types does not match"),
    ("POST /cluster/ha/resources", {"sid": "foo:1"}, "500 unknown section type 'foo'"),
    ("POST /cluster/ha/resources", {"sid": "101"}, "500 unable to detect SID from VMID"),
    (
        "PUT /cluster/ha/resources/vm:101",
        {"state": "stopped"},
        "500 update resources config failed: no such resource 'vm:101'",
    ),
    (
        "PUT /cluster/ha/resources/vm:100",
        {"state": "stopped", "digest": "0" * 40},
        f"500 update resources config failed: {CHANGED}",
    ),
    ("DELETE VM/100", {}, "500 unable to remove VM 100 - used in HA resources"),
    ("DELETE /cluster/ha/resources/vm:100", {}, "OK"),
    (
        "DELETE /cluster/ha/resources/vm:100",
        {},
        "500 cannot delete service 'vm:100', not HA managed!",
    ),
]


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Pve]:
    async with running(tmp_path / "lab", SPEC) as client:
        yield client


async def test_snapshots(host: Pve) -> None:
    """Their names, what they keep, what they prevent, and what returns with them."""
    assert await told(host, SNAPSHOTS) == []
    config = await host.call("GET", "/nodes/pve/qemu/100/config")
    assert config["unused0"] == "local-lvm:vm-100-disk-1"  # came after s1
    assert "name" not in config
    assert "parent" not in config


async def test_linked_clones(host: Pve) -> None:
    """Files stand on a base in qcow2; thick volumes have no bases."""
    assert await told(host, CLONES) == []
    config = await host.call("GET", "/nodes/pve/qemu/101/config")
    assert config["scsi0"] == "files:100/base-100-disk-0.raw/101/vm-101-disk-0.qcow2,size=1G"
    assert "vm-200-disk-0" in (await host.call("GET", "/nodes/pve/qemu/200/config"))["scsi0"]


async def test_disks(host: Pve) -> None:
    """One cloud-init drive; it is never left unused; LVM rounds sizes up to its extents."""
    assert await told(host, DISKS) == []
    config = await host.call("GET", "/nodes/pve/qemu/100/config")
    assert config["scsi0"] == "local-lvm:vm-100-disk-0,size=1028M"
    assert config["ide1"] == "local-lvm:vm-100-cloudinit,media=cdrom,size=4M"
    unused = {key: value for key, value in config.items() if key.startswith("unused")}
    assert unused == {"unused0": "files:100/vm-100-disk-0.raw"}


async def test_storages(host: Pve) -> None:
    """What a storage is for without a choice, and changes by someone else meanwhile."""
    assert await told(host, STORAGE) == []
    shown = await host.call("GET", "/storage/nas")
    assert (shown["content"], shown["shared"]) == ("images", 1)


async def test_high_availability(host: Pve) -> None:
    """The prefixes tell which file the refusal is about."""
    assert await told(host, HA) == []


async def test_variables_of_uefi_are_as_large_as_their_file(host: Pve) -> None:
    """PVE::QemuServer::OVMF::get_efivars_size; LVM rounds it up."""
    drives = {"efidisk0": "files:1,efitype=4m"}
    assert await host.task("POST", "/nodes/pve/qemu", vmid=100, **drives) == "OK"
    assert await host.task("POST", "/nodes/pve/qemu", vmid=101, efidisk0="files:1") == "OK"
    assert await host.task("POST", "/nodes/pve/qemu", vmid=102, efidisk0="local-lvm:1") == "OK"
    sizes = []
    for vmid in (100, 101, 102):
        config = await host.call("GET", f"/nodes/pve/qemu/{vmid}/config")
        sizes.append(config["efidisk0"].rpartition("size=")[2])
    assert sizes == ["528K", "128K", "4M"]
