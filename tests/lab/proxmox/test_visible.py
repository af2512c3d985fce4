"""What a token with few rights is shown: the real checks, from recorded refusals of Proxmox VE 9.2.

`GET content/VOLID` asks for Datastore.Audit on the storage and VM.Config.Disk on the VM, or for
Datastore.Allocate; bridges are shown to users with an SDN right on them or on one of their VLANs.
"""

from __future__ import annotations

import pytest
from tests.lab.proxmox.conftest import Pve

USER = "ops@pve"
DISK = "local-lvm:vm-101-disk-0"


async def with_rights(pve: Pve, *entries: tuple[str, str]) -> Pve:
    """A token's client; each entry is a path and the privileges granted there."""
    await pve.call("POST", "/access/users", userid=USER)
    made = await pve.call("POST", f"/access/users/{USER}/token/ci", privsep=0)
    for number, (path, privileges) in enumerate(entries):
        await pve.call("POST", "/access/roles", roleid=f"R{number}", privs=privileges)
        await pve.call("PUT", "/access/acl", path=path, users=USER, roles=f"R{number}")
    return Pve(pve.world, token=f"{USER}!ci={made['value']}")


@pytest.mark.parametrize(
    ("entries", "refusal"),
    [
        (
            [("/vms", "VM.Config.Disk")],
            "Permission check failed (/storage/local-lvm, Datastore.Audit)",
        ),
        (
            [("/storage/local-lvm", "Datastore.AllocateSpace"), ("/vms", "VM.Config.Disk")],
            "Permission check failed (/storage/local-lvm, Datastore.Audit)",
        ),
        (
            [("/storage/local-lvm", "Datastore.Audit"), ("/vms", "VM.Audit")],
            "Permission check failed (/vms/101, VM.Config.Disk)",
        ),
        ([("/storage/local-lvm", "Datastore.Audit"), ("/vms", "VM.Config.Disk")], ""),
        ([("/storage/local-lvm", "Datastore.Allocate")], ""),
    ],
)
async def test_reading_a_disk(pve: Pve, entries: list[tuple[str, str]], refusal: str) -> None:
    """Seeing the storage is not enough, nor is owning the VM."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0="local-lvm:1")
    other = await with_rights(pve, *entries)
    async with other.http:
        answer = await other.send("GET", f"/nodes/pve/storage/local-lvm/content/{DISK}")
    assert answer.reason_phrase == (refusal or "OK")


@pytest.mark.parametrize(
    ("privileges", "listed"),
    [("VM.Config.Disk", [DISK]), ("VM.Audit", [])],
)
async def test_content_shows_what_may_be_read(pve: Pve, privileges: str, listed: list[str]) -> None:
    """A list leaves out the volumes whose own check would fail."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0="local-lvm:1")
    await pve.task("POST", "/nodes/pve/qemu", vmid=102, scsi0="local-lvm:1")
    entries = [("/storage/local-lvm", "Datastore.Audit"), ("/vms/101", privileges)]
    other = await with_rights(pve, *entries)
    async with other.http:
        rows = await other.call("GET", "/nodes/pve/storage/local-lvm/content")
    assert [row["volid"] for row in rows] == listed


@pytest.mark.parametrize(
    ("path", "privilege", "seen"),
    [
        ("/nodes/pve", "Sys.Audit,Sys.Modify", False),
        ("/sdn/zones/localnetwork/vmbr0", "SDN.Audit", True),
        ("/sdn/zones/localnetwork/vmbr0", "SDN.Use", True),
        ("/sdn/zones/localnetwork/vmbr0", "SDN.Allocate", False),
        ("/sdn/zones/localnetwork/vmbr0/20", "SDN.Use", True),
        ("/sdn/zones/localnetwork", "SDN.Audit", True),
    ],
)
async def test_bridges_are_shown_by_sdn_rights(
    pve: Pve, path: str, privilege: str, *, seen: bool
) -> None:
    """A user who may change the network of a node does not see its bridges for that."""
    other = await with_rights(pve, (path, privilege))
    async with other.http:
        names = {row["iface"] for row in await other.call("GET", "/nodes/pve/network")}
    assert "eno1" in names
    assert ("vmbr0" in names) is seen
