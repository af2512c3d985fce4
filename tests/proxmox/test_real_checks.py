"""What Proxmox checks inside its handlers, beside the `permissions` that its API schema declares.

Read off the source of qemu-server 9.2.6 (PVE/API2/Qemu.pm: `check_storage_access`,
`check_vm_modify_config_perm`, `check_hostpci_perm`, `check_storage_access_clone` and the checks of
drives in `update_vm_api`; PVE/QemuServer.pm: `check_bridge_access`), pve-guest-common 6.0.2
(PVE/GuestHelpers.pm: `check_vnet_access`, `assert_tag_permissions`) and pve-storage 9.1.7
(PVE/Storage.pm: `check_volume_access`). The lab refuses what they refuse, right by right: so a life
under the prepared token breaks where it would break on a real host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import DeniedError, TalopsError
from talops.proxmox import tasks
from talops.proxmox.client import Client

if TYPE_CHECKING:
    from tests.proxmox.conftest import Lab

NEW, OLD, TEMPLATE = "/vms/200", "/vms/100", "/vms/900"
BRIDGE = "/sdn/zones/localnetwork/vmbr0"
CREATE = (NEW, "VM.Allocate")
Grants = tuple[tuple[str, str], ...]

# What is called, with which parameters, and what all of it takes.
ROWS: list[tuple[str, str, dict[str, Any], Grants]] = [
    ("POST", "qemu", {"scsi0": "local-lvm:1"}, (CREATE, ("/storage/local-lvm", "AllocateSpace"))),
    ("POST", "qemu", {"ide2": "local-lvm:cloudinit"}, (CREATE,)),
    ("POST", "qemu", {"ipconfig0": "ip=dhcp"}, (CREATE, (NEW, "VM.Config.Network"))),
    ("POST", "qemu", {"boot": "order=net0"}, (CREATE, (NEW, "VM.Config.Disk"))),
    ("POST", "qemu", {"memory": 512}, (CREATE, (NEW, "VM.Config.Memory"))),
    ("POST", "qemu", {"cpu": "host"}, (CREATE, (NEW, "VM.Config.CPU"))),
    ("POST", "qemu", {"machine": "q35"}, (CREATE, (NEW, "VM.Config.HWType"))),
    ("POST", "qemu", {"serial0": "socket"}, (CREATE, (NEW, "VM.Config.HWType"))),
    ("POST", "qemu", {"name": "a"}, (CREATE, (NEW, "VM.Config.Options"))),
    (
        "POST",
        "qemu",
        {"startup": "order=1"},
        (CREATE, (NEW, "VM.Config.Options"), ("/", "Sys.Modify")),
    ),
    (
        "POST",
        "qemu",
        {"net0": "virtio,bridge=vmbr0"},
        (CREATE, (NEW, "VM.Config.Network"), (BRIDGE, "SDN.Use")),
    ),
    (
        "POST",
        "qemu",
        {"net0": "virtio,bridge=vmbr0,tag=20"},
        (CREATE, (NEW, "VM.Config.Network"), (f"{BRIDGE}/20", "SDN.Use")),
    ),
    (
        "POST",
        "qemu",
        {"hostpci0": "mapping=gpu0"},
        (CREATE, (NEW, "VM.Config.HWType"), ("/mapping/pci/gpu0", "Mapping.Use")),
    ),
    ("PUT", "qemu/100/config", {"ide3": "none,media=cdrom"}, ((OLD, "VM.Config.CDROM"),)),
    (
        "PUT",
        "qemu/100/config",
        {"ide2": "local-lvm:cloudinit"},
        ((OLD, "VM.Config.Cloudinit"), (OLD, "VM.Config.CDROM")),
    ),
    (
        "PUT",
        "qemu/100/config",
        {"efidisk0": "local-lvm:1"},
        ((OLD, "VM.Config.Disk"), ("/storage/local-lvm", "AllocateSpace")),
    ),
    ("PUT", "qemu/100/config", {"tags": "a"}, ((OLD, "VM.Config.Options"),)),
    (
        "POST",
        "qemu/900/clone",
        {"newid": 200},
        (
            (TEMPLATE, "VM.Clone"),
            CREATE,
            ("/storage/local-lvm", "AllocateSpace"),
            (BRIDGE, "SDN.Use"),
        ),
    ),
]


def full(grants: Grants) -> Grants:
    return tuple((p, f"Datastore.{n}" if n == "AllocateSpace" else n) for p, n in grants)


@pytest.mark.parametrize(
    ("method", "path", "params", "grants"),
    ROWS,
    ids=[f"{method} {path} {next(iter(params))}" for method, path, params, _ in ROWS],
)
async def test_a_call_takes_these_rights_and_no_more(
    lab: Lab, root: Client, method: str, path: str, params: dict[str, Any], grants: Grants
) -> None:
    """All of them are enough; without any single one it is refused, by path and name."""
    await furnish(root)
    needed = full(grants)
    for left_out in needed:
        kept = [grant for grant in needed if grant != left_out]
        with pytest.raises(DeniedError):
            await ask(lab, method, path, params, kept)
    await ask(lab, method, path, params, list(needed))


async def test_tags_are_checked_before_a_vm_is_in_its_pool(lab: Lab, root: Client) -> None:
    """`assert_tag_permissions` names no pool: rights on the pool alone do not create tagged VMs."""
    await root.ask("POST", "pools", {"poolid": "k8s"})
    pool = [("/pool/k8s", "VM.Allocate"), ("/pool/k8s", "VM.Config.Options")]
    given = {"name": "a", "pool": "k8s"}
    await ask(lab, "POST", "qemu", given, pool)
    await tasks.run(root, "DELETE", "nodes/pve/qemu/200")
    with pytest.raises(TalopsError, match=r"Permission check failed \(/vms/200, VM\.Config\.Opt"):
        await ask(lab, "POST", "qemu", {**given, "tags": "talos"}, pool)
    assert "200" not in lab.pve.vms


async def ask(
    lab: Lab, method: str, path: str, params: dict[str, Any], grants: list[tuple[str, str]]
) -> None:
    paths = {where: " ".join(n for p, n in grants if p == where) for where, _ in grants}
    number = len(lab.pve.users.keys())
    token = lab.token(*((where, held, 0) for where, held in paths.items()), user=f"u{number}@pve")
    async with Client(lab.access(token)) as client:
        sent = {**params, "vmid": 200} if path == "qemu" else params
        if method == "POST":
            await tasks.run(client, method, f"nodes/pve/{path}", sent)
        else:
            await client.ask(method, f"nodes/pve/{path}", sent)


async def furnish(root: Client) -> None:
    """A VM to change, a template to clone, a device to give away."""
    await tasks.run(root, "POST", "nodes/pve/qemu", {"vmid": 100})
    disk = {"vmid": 900, "scsi0": "local-lvm:1", "net0": "virtio,bridge=vmbr0"}
    await tasks.run(root, "POST", "nodes/pve/qemu", disk)
    await tasks.run(root, "POST", "nodes/pve/qemu/900/template")
    device = "id=10de:2204,iommugroup=14,node=pve,path=0000:01:00.0,subsystem-id=1458:403b"
    await root.ask("POST", "cluster/mapping/pci", {"id": "gpu0", "map": [device]})
