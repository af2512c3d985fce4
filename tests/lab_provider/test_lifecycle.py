"""Every other type: made, unchanged by a second plan, changed, adopted, and taken away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.lab_provider.configurations import VM

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Case:
    """`adopted`: the attributes that a plan still wants to change right after an import."""

    type: str
    body: str
    change: tuple[str, str]
    attributes: tuple[str, ...]
    identity: str
    adopted: tuple[str, ...] = ()


CASES = (
    Case(
        "proxmox_download_file",
        """
  content_type = "iso"
  datastore_id = "local"
  node_name    = "pve1"
  url          = "https://factory.lab/image/x/talos.iso"
  overwrite    = false
""",
        ("overwrite    = false", "overwrite    = false\n  upload_timeout = 60"),
        ("upload_timeout",),
        "pve1/local:iso/talos.iso",
        ("content_type", "datastore_id"),
    ),
    Case(
        "proxmox_network_linux_bridge",
        """
  node_name  = "pve1"
  name       = "vmbr9"
  ports      = ["eno2"]
  vlan_aware = true
  comment    = "lab"
  mtu        = 9000
""",
        ("mtu        = 9000", "mtu        = 1500"),
        ("mtu",),
        "pve1:vmbr9",
    ),
    Case(
        "proxmox_network_linux_vlan",
        """
  node_name = "pve1"
  name      = "eno1.20"
  address   = "10.0.20.1/24"
""",
        ("10.0.20.1/24", "10.0.20.2/24"),
        ("address",),
        "pve1:eno1.20",
    ),
    Case(
        "proxmox_storage_directory",
        """
  id      = "files"
  path    = "/mnt/files"
  content = ["iso", "import"]
""",
        ('["iso", "import"]', '["iso"]'),
        ("content",),
        "files",
    ),
    Case(
        "proxmox_storage_lvmthin",
        """
  id           = "thin"
  volume_group = "pve"
  thin_pool    = "data"
  content      = ["images"]
""",
        ('["images"]', '["images", "rootdir"]'),
        ("content",),
        "thin",
    ),
    Case(
        "proxmox_storage_lvm",
        """
  id           = "thick"
  volume_group = "pve"
  content      = ["images"]
""",
        ('"thick"', '"thick"\n  wipe_removed_volumes = true'),
        ("wipe_removed_volumes",),
        "thick",
    ),
    Case(
        "proxmox_storage_zfspool",
        """
  id             = "tank"
  zfs_pool       = "tank/vm"
  thin_provision = true
  content        = ["images"]
  nodes          = ["pve1"]
""",
        ('["pve1"]', '["pve1", "pve2"]'),
        ("nodes",),
        "tank",
    ),
    Case(
        "proxmox_storage_nfs",
        """
  id      = "nas"
  server  = "10.0.0.2"
  export  = "/tank/backup"
  content = ["backup"]
""",
        ('["backup"]', '["backup"]\n  disable = true'),
        ("disable",),
        "nas",
    ),
    Case(
        "proxmox_virtual_environment_role",
        """
  role_id    = "talops"
  privileges = ["VM.Audit", "VM.Config.CPU"]
""",
        ('"VM.Config.CPU"', '"VM.Config.Disk"'),
        ("privileges",),
        "talops",
    ),
    Case(
        "proxmox_virtual_environment_group",
        '\n  group_id = "ops"\n  comment = "people"\n',
        ("people", "robots"),
        ("comment",),
        "ops",
    ),
    Case(
        "proxmox_virtual_environment_user",
        '\n  user_id = "talops@pve"\n  comment = "robot"\n',
        ('"robot"', '"robot"\n  enabled = false'),
        ("enabled",),
        "talops@pve",
    ),
    Case(
        "proxmox_virtual_environment_pool",
        '\n  pool_id = "k8s"\n  comment = "cluster"\n',
        ("cluster", "clusters"),
        ("comment",),
        "k8s",
    ),
    Case(
        "proxmox_acl",
        '\n  path = "/vms"\n  role_id = "PVEAuditor"\n  user_id = "talops@pve"\n',
        ('"talops@pve"', '"talops@pve"\n  propagate = false'),
        ("propagate",),
        "/vms?talops@pve?PVEAuditor",
    ),
    Case(
        "proxmox_user_token",
        '\n  user_id = "talops@pve"\n  token_name = "ci"\n  comment = "robot"\n',
        ('"robot"', '"robots"'),
        ("comment",),
        "talops@pve!ci",
    ),
    Case(
        "proxmox_hardware_mapping_pci",
        """
  name    = "gpu0"
  comment = "a GPU"
  map = [{ id = "10de:1b38", node = "pve1", path = "0000:01:00.0", iommu_group = 1 }]
""",
        ("a GPU", "the GPU"),
        ("comment",),
        "gpu0",
    ),
)


def resource(case: Case) -> str:
    return f'resource "{case.type}" "one" {{{case.body}}}\n'


EVERYTHING = "".join(resource(case) for case in CASES)


def test_everything_is_made_changed_and_taken_away(workspace: Workspace, fake: Fake) -> None:
    """Two empty plans: one after the creation, one after the change."""
    empty = fake.snapshot()
    workspace.apply(EVERYTHING)
    assert workspace.plan() == {}
    changed = "".join(resource(case).replace(*case.change) for case in CASES)
    plan = workspace.plan(changed)
    assert {address: tuple(change["attributes"]) for address, change in plan.items()} == {
        f"{case.type}.one": case.attributes for case in CASES
    }
    workspace.apply()
    assert workspace.plan() == {}
    workspace.destroy()
    assert fake.snapshot() == empty


def test_everything_can_be_adopted(workspace: Workspace, fake: Fake) -> None:
    """What is there already is imported by its name, and is then as it should be."""
    workspace.apply(EVERYTHING)
    (workspace.directory / "terraform.tfstate").unlink()
    imports = "".join(
        f'import {{\n  to = {case.type}.one\n  id = "{case.identity}"\n}}\n' for case in CASES
    )
    fake.forget()
    plan = workspace.plan(EVERYTHING + imports)
    found = {address: change["actions"] for address, change in plan.items()}
    expected = {f"{case.type}.one": ["delete", "create"] for case in CASES if case.adopted}
    assert found == expected
    assert fake.changes() == []


def test_a_vm_can_be_adopted(with_vm: Workspace, fake: Fake) -> None:
    """Only what Proxmox does not tell is planned: settings of the provider, and a silent agent."""
    (with_vm.directory / "terraform.tfstate").unlink()
    wanted = VM + 'import {\n  to = proxmox_virtual_environment_vm.node\n  id = "pve1/101"\n}\n'
    plan = with_vm.plan(wanted)["proxmox_virtual_environment_vm.node"]
    assert plan["actions"] == ["update"]
    assert plan["attributes"] == ["agent", "migrate", "stop_on_destroy"]
    with_vm.apply()
    assert with_vm.plan() == {}


FORCED = {
    "proxmox_download_file": (
        '"https://factory.lab/image/x/talos.iso"',
        '"https://factory.lab/y.iso"',
    ),
    "proxmox_network_linux_bridge": ('"vmbr9"', '"vmbr8"'),
    "proxmox_storage_directory": ('"/mnt/files"', '"/mnt/other"'),
    "proxmox_storage_lvmthin": ('"data"', '"other"'),
    "proxmox_virtual_environment_role": ('"talops"', '"other"'),
    "proxmox_virtual_environment_pool": ('"k8s"', '"k3s"'),
    "proxmox_acl": ('"/vms"', '"/storage"'),
    "proxmox_user_token": ('"ci"', '"cd"'),
}


def test_some_changes_replace(workspace: Workspace) -> None:
    """What names a thing cannot be changed in place."""
    workspace.apply(EVERYTHING)
    body = "".join(
        resource(case).replace(*FORCED[case.type]) if case.type in FORCED else resource(case)
        for case in CASES
    )
    plan = workspace.plan(body)
    assert {address.partition(".")[0] for address in plan} == set(FORCED)
    assert {tuple(change["actions"]) for change in plan.values()} == {("delete", "create")}


def test_what_is_gone_is_made_again(workspace: Workspace, fake: Fake) -> None:
    """A read that finds nothing plans a creation; tokens, as with the real one, are an error."""
    without_token = "".join(resource(c) for c in CASES if c.type != "proxmox_user_token")
    empty = fake.snapshot()
    workspace.apply(without_token)
    fake.restore(empty)
    plan = workspace.plan()
    assert len(plan) == len(CASES) - 1
    assert {tuple(change["actions"]) for change in plan.values()} == {("create",)}
