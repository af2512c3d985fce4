"""Who gets in, and what they may do where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.proxmox.conftest import Pve

from talops.lab.faults import Faults, parse
from talops.lab.proxmox.access.rights import acl_key
from talops.lab.proxmox.hypervisor import Hypervisor
from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER, TOKEN = "ops@pve", "ops@pve!ci"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Hypervisor]:
    host = Hypervisor(LabSpec().proxmox[0], state=tmp_path, faults=Faults(tmp_path / "faults"))
    host.users.put(USER, {"userid": USER, "groups": "staff"})
    host.tokens.put(TOKEN, {"tokenid": "ci", "privsep": 1})
    host.tokens.put("ops@pve!full", {"tokenid": "full", "privsep": 0})
    host.pools.put("talos", {"poolid": "talos", "vms": [101], "storages": ["nas"]})
    yield host
    host.store.close()


# path of the entry, type, who, role, propagate
Entry = tuple[str, str, str, str, int]
CASES: dict[str, tuple[list[Entry], str, str, str, bool]] = {
    "nothing gives nothing": ([], USER, "/vms/101", "VM.Audit", False),
    "a right goes down": (
        [("/", "user", USER, "PVEVMAdmin", 1)],
        USER,
        "/vms/101",
        "VM.Audit",
        True,
    ),
    "or not": ([("/", "user", USER, "PVEVMAdmin", 0)], USER, "/vms/101", "VM.Audit", False),
    "it counts where it is": ([("/", "user", USER, "PVEAuditor", 0)], USER, "/", "Sys.Audit", True),
    "a nearer entry replaces": (
        [("/", "user", USER, "Administrator", 1), ("/vms", "user", USER, "PVEAuditor", 1)],
        USER,
        "/vms/102",
        "VM.Allocate",
        False,
    ),
    "NoAccess wins": (
        [("/vms", "user", USER, "PVEVMAdmin", 1), ("/vms", "user", USER, "NoAccess", 1)],
        USER,
        "/vms/101",
        "VM.Audit",
        False,
    ),
    "a group helps": (
        [("/vms", "group", "staff", "PVEVMAdmin", 1)],
        USER,
        "/vms/101",
        "VM.Audit",
        True,
    ),
    "the user's own entry beats the group's": (
        [("/vms", "group", "staff", "PVEVMAdmin", 1), ("/vms", "user", USER, "PVEAuditor", 1)],
        USER,
        "/vms/101",
        "VM.Allocate",
        False,
    ),
    "a token with separated privileges starts with none": (
        [("/", "user", USER, "Administrator", 1)],
        TOKEN,
        "/vms/101",
        "VM.Audit",
        False,
    ),
    "its own entry within the user's": (
        [("/", "user", USER, "Administrator", 1), ("/vms", "token", TOKEN, "PVEVMAdmin", 1)],
        TOKEN,
        "/vms/101",
        "VM.Audit",
        True,
    ),
    "never more than the user": (
        [("/", "user", USER, "PVEAuditor", 1), ("/vms", "token", TOKEN, "PVEVMAdmin", 1)],
        TOKEN,
        "/vms/101",
        "VM.Allocate",
        False,
    ),
    "a full token has the user's": (
        [("/", "user", USER, "Administrator", 1)],
        "ops@pve!full",
        "/vms/101",
        "VM.Audit",
        True,
    ),
    "a pool lends its rights to its VMs": (
        [("/pool/talos", "user", USER, "PVEVMAdmin", 1)],
        USER,
        "/vms/101",
        "VM.Allocate",
        True,
    ),
    "and to no others": (
        [("/pool/talos", "user", USER, "PVEVMAdmin", 1)],
        USER,
        "/vms/102",
        "VM.Allocate",
        False,
    ),
    "and to its storages": (
        [("/pool/talos", "user", USER, "PVEDatastoreUser", 1)],
        USER,
        "/storage/nas",
        "Datastore.Audit",
        True,
    ),
    "a pool can shut its VMs off": (
        [("/vms", "user", USER, "PVEVMAdmin", 1), ("/pool/talos", "user", USER, "NoAccess", 1)],
        USER,
        "/vms/101",
        "VM.Audit",
        False,
    ),
    "root may": ([], "root@pam", "/vms/101", "VM.Allocate", True),
}


@pytest.mark.parametrize("name", CASES)
def test_rights(host: Hypervisor, name: str) -> None:
    """Roles along the path, nearest first, users before groups, tokens within their users."""
    entries, who, path, privilege, expected = CASES[name]
    for place, kind, ugid, role, propagate in entries:
        entry = {"path": place, "type": kind, "ugid": ugid, "roleid": role, "propagate": propagate}
        host.acl.put(acl_key(entry), entry)
    host.rights.changed()
    assert (privilege in host.rights.privileges(who, path)) is expected


async def make_token(pve: Pve, *entries: tuple[str, str]) -> Pve:
    """A client whose token has these roles at these paths."""
    await pve.call("POST", "/access/users", userid=USER)
    made = await pve.call("POST", f"/access/users/{USER}/token/ci", privsep=0)
    for path, role in entries:
        await pve.call("PUT", "/access/acl", path=path, users=USER, roles=role)
    return Pve(pve.world, token=f"{TOKEN}={made['value']}")


async def test_a_token_without_rights_sees_nothing(pve: Pve) -> None:
    """Lists are empty and calls are refused with path and privilege."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101)
    other = await make_token(pve)
    async with other.http:
        assert await other.call("GET", "/cluster/resources", type="vm") == []
        assert await other.call("GET", "/nodes/pve/qemu") == []
        assert await other.call("GET", "/nodes/pve/storage") == []
        assert await other.call("GET", "/pools") == []
        refused = await other.send("GET", "/nodes/pve/qemu/101/config")
        assert refused.status_code == 403
        assert refused.reason_phrase == "Permission check failed (/vms/101, VM.Audit)"


NEEDS = [
    ({"cores": "2"}, "VM.Config.CPU"),
    ({"memory": "2048"}, "VM.Config.Memory"),
    ({"net0": "virtio"}, "VM.Config.Network"),
    ({"machine": "q35"}, "VM.Config.HWType"),
    ({"tags": "a"}, "VM.Config.Options"),
    ({"boot": "order=net0"}, "VM.Config.Disk"),
    ({"ide2": "none,media=cdrom"}, "VM.Config.CDROM"),
]


@pytest.mark.parametrize(("change", "privilege"), NEEDS)
async def test_each_change_needs_its_privilege(
    pve: Pve, change: dict[str, str], privilege: str
) -> None:
    """A role without just that privilege is refused, with its name in the refusal."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, net0="virtio")
    every = [p for p in await pve.call("GET", "/access/roles/Administrator") if p != privilege]
    await pve.call("POST", "/access/roles", roleid="Almost", privs=",".join(every))
    other = await make_token(pve, ("/", "Almost"))
    async with other.http:
        refused = await other.send("PUT", "/nodes/pve/qemu/101/config", **change)
        assert refused.reason_phrase == f"Permission check failed (/vms/101, {privilege})"
        await pve.call("PUT", "/access/roles/Almost", privs=privilege, append=1)
        assert (await other.send("PUT", "/nodes/pve/qemu/101/config", **change)).is_success


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"args": "-cpu host"}, "only root can set 'args' config"),
        ({"startup": "order=1"}, "Permission check failed (/, Sys.Modify)"),
        (
            {"hostpci0": "0000:01:00.0"},
            "only root can set 'hostpci0' config for non-mapped devices",
        ),
        ({"hostpci0": "mapping=gpu"}, "Permission check failed (/mapping/pci/gpu, Mapping.Use)"),
        (
            {"scsi0": "local-lvm:1"},
            "Permission check failed (/storage/local-lvm, Datastore.AllocateSpace)",
        ),
        (
            {"net0": "virtio,bridge=vmbr0"},
            "Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)",
        ),
    ],
)
async def test_things_that_vm_rights_do_not_cover(
    pve: Pve, change: dict[str, str], reason: str
) -> None:
    """Devices, storages and bridges have rights of their own."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101)
    other = await make_token(pve, ("/vms", "PVEVMAdmin"))
    async with other.http:
        refused = await other.send("PUT", "/nodes/pve/qemu/101/config", **change)
        assert refused.reason_phrase == reason
        assert refused.status_code == (403 if reason.startswith("Permission") else 500)


async def test_creating_in_a_pool_needs_rights_on_the_pool_only(pve: Pve) -> None:
    """A user who owns a pool creates VMs in it and nowhere else."""
    await pve.call("POST", "/pools", poolid="talos")
    other = await make_token(pve, ("/pool/talos", "PVEVMAdmin"))
    async with other.http:
        refused = await other.send("POST", "/nodes/pve/qemu", vmid=101)
        assert (refused.status_code, refused.reason_phrase) == (403, "Permission check failed")
        assert await other.task("POST", "/nodes/pve/qemu", vmid=101, pool="talos", cores=2) == "OK"
        assert await other.task("DELETE", "/nodes/pve/qemu/101") == "OK"


async def test_users_cannot_grant_more_than_they_have(pve: Pve) -> None:
    """A user who may allocate a VM may share it, within their own rights."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101)
    other = await make_token(pve, ("/vms", "PVEVMAdmin"))
    await pve.call("POST", "/access/users", userid="guest@pve")
    async with other.http:
        share = {"path": "/vms/101", "users": "guest@pve"}
        assert (await other.send("PUT", "/access/acl", roles="PVEVMUser", **share)).is_success
        refused = await other.send("PUT", "/access/acl", roles="Administrator", **share)
        assert refused.json()["message"].startswith("ACL update failed: 400 Parameter")
        assert "role: Cannot add role 'Administrator'" in refused.json()["message"]
        elsewhere = await other.send("PUT", "/access/acl", path="/", users=USER, roles="PVEVMUser")
        assert elsewhere.reason_phrase == "Permission check failed (/, Permissions.Modify)"


async def test_permissions_of_the_caller(pve: Pve) -> None:
    """What a preflight asks: privileges per path."""
    other = await make_token(pve, ("/storage/local", "PVEDatastoreUser"))
    async with other.http:
        found = await other.call("GET", "/access/permissions", path="/storage/local")
        assert found == {"/storage/local": {"Datastore.AllocateSpace": 1, "Datastore.Audit": 1}}
        assert await other.call("GET", "/access/permissions", path="/vms") == {"/vms": {}}


async def test_tickets_need_a_csrf_token_to_write(pve: Pve) -> None:
    """A ticket alone reads; writing needs the token that came with it."""
    other = Pve(pve.world, token="-")
    async with other.http as http:
        password = pve.world.identity.credentials.password
        given = await other.call("POST", "/access/ticket", username="root@pam", password=password)
        http.cookies.set("PVEAuthCookie", given["ticket"])
        assert (await http.get("/version")).is_success
        refused = await other.send("POST", "/pools", poolid="a")
        assert (refused.status_code, refused.reason_phrase) == (
            401,
            "Permission denied - invalid csrf token",
        )
        http.headers["CSRFPreventionToken"] = given["CSRFPreventionToken"]
        assert (await other.send("POST", "/pools", poolid="a")).is_success


async def test_tickets_grow_old(pve: Pve) -> None:
    """A host whose clock jumps ahead by three hours refuses the tickets it gave."""
    other = Pve(pve.world, token="-")
    async with other.http as http:
        password = pve.world.identity.credentials.password
        given = await other.call("POST", "/access/ticket", username="root@pam", password=password)
        http.cookies.set("PVEAuthCookie", given["ticket"])
        pve.world.faults.add(parse({"kind": "clock-skew", "seconds": 3 * 3600}))
        refused = await http.get("/version")
        assert (refused.status_code, refused.reason_phrase) == (401, "Authentication failed!")


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("-", "No ticket"),
        ("root@pam!lab=wrong", "Authentication failed!"),
        ("root@pam!none=x", "Authentication failed!"),
        ("who@pam!x=x", "Authentication failed!"),
    ],
)
async def test_strangers_are_turned_away(pve: Pve, token: str, reason: str) -> None:
    """401 without a body, and without a word of which half was wrong."""
    stranger = Pve(pve.world, token=token)
    async with stranger.http:
        refused = await stranger.send("GET", "/version")
        assert (refused.status_code, refused.reason_phrase) == (401, reason)
        assert refused.content == b""


async def test_a_wrong_password_is_refused(pve: Pve) -> None:
    """Without saying which half was wrong."""
    answer = await pve.send("POST", "/access/ticket", username="root@pam", password="x")
    assert (answer.status_code, answer.reason_phrase) == (401, "authentication failure")


async def test_a_disabled_user_is_locked_out(pve: Pve) -> None:
    """Tokens of a disabled user stop working at once."""
    other = await make_token(pve)
    async with other.http:
        assert (await other.send("GET", "/version")).is_success
        await pve.call("PUT", f"/access/users/{USER}", enable=0)
        refused = await other.send("GET", "/version")
        assert refused.reason_phrase == "Authentication failed!"
