"""Which privileges a plan needs, and how they become roles and lines to type."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proxmox.conftest import plan, vm

from talops.proxmox import pveum
from talops.proxmox.rights import Grant, grants, needs, roles, spoken
from talops.proxmox.wanted import Managed, WantedImage, WantedTemplate

TEMPLATE_IMAGE = WantedImage("pve", "local", "import", "x.qcow2", for_template=True)
TEMPLATE = WantedTemplate("base", 9000, "pve", "v1.13.9", "ab" * 32, "vmbr0")

ROWS: list[tuple[str, dict[str, Any], set[tuple[str, str]], set[tuple[str, str]]]] = [
    (
        "one host, ISO",
        {},
        {
            ("/vms", "VM.Allocate"),
            ("/vms", "VM.Config.Cloudinit"),
            ("/storage/local-lvm", "Datastore.AllocateSpace"),
            ("/storage/local-lvm", "Datastore.Audit"),
            ("/storage/local", "Datastore.AllocateTemplate"),
            ("/storage/local", "Datastore.Allocate"),
            ("/nodes/pve", "Sys.AccessNetwork"),
            ("/sdn/zones/localnetwork/vmbr0", "SDN.Use"),
            ("/", "Sys.Modify"),
        },
        {("/vms", "VM.Clone"), ("/vms", "VM.Migrate"), ("/", "Sys.Audit")},
    ),
    (
        "a VLAN that Proxmox tags",
        {"vms": (vm(vlan=20),)},
        {("/sdn/zones/localnetwork/vmbr0/20", "SDN.Use")},
        {("/sdn/zones/localnetwork/vmbr0", "SDN.Use")},
    ),
    ("DHCP needs no cloud-init", {"static_boot": False}, set(), {("/vms", "VM.Config.Cloudinit")}),
    ("clones", {"clones": True}, {("/vms", "VM.Clone")}, set()),
    (
        "two hosts",
        {"vms": (vm(), vm("demo-w-1", host="pve2", vm_id=121)), "hosts": ("pve", "pve2")},
        {("/vms", "VM.Migrate"), ("/", "Sys.Audit"), ("/nodes/pve2", "Sys.Audit")},
        {("/nodes/pve", "Sys.AccessNetwork"), ("/nodes/pve2", "Sys.AccessNetwork")},
    ),
    (
        "a GPU",
        {"vms": (vm(gpus=("gpu0",)),)},
        {("/mapping/pci/gpu0", "Mapping.Use")},
        {("/mapping/pci/gpu0", "Mapping.Audit"), ("/", "Sys.Audit")},
    ),
    (
        "a GPU, and no start order",
        {"vms": (vm(gpus=("gpu0",)),), "startup_order": False},
        {("/", "Sys.Audit")},
        {("/", "Sys.Modify")},
    ),
    (
        "a pool",
        {"vms": (vm(pool="k8s"),)},
        {("/pool/k8s", "Pool.Audit"), ("/pool/k8s", "Pool.Allocate")},
        set(),
    ),
    (
        "disks and images on one storage",
        {"vms": (vm(storage="local"),)},
        {("/storage/local", "Datastore.AllocateSpace"), ("/storage/local", "Datastore.Allocate")},
        {("/storage/local", "Datastore.Audit")},
    ),
    (
        "a template whose card has no tag",
        {"vms": (vm(vlan=20),), "template": TEMPLATE, "images": (TEMPLATE_IMAGE,)},
        {
            ("/sdn/zones/localnetwork/vmbr0", "SDN.Use"),
            ("/sdn/zones/localnetwork/vmbr0/20", "SDN.Use"),
        },
        {("/storage/local", "Datastore.Allocate")},
    ),
    (
        "a bridge of layer 01 that VMs use by a tag",
        {"vms": (vm(vlan=20),), "managed": Managed(bridges=frozenset({("pve", "vmbr0")}))},
        {("/sdn/zones/localnetwork/vmbr0/20", "SDN.Use")},
        {("/sdn/zones/localnetwork/vmbr0", "SDN.Audit")},
    ),
    ("the guest agent", {"guest_agent": True}, {("/vms", "VM.GuestAgent.Audit")}, set()),
    (
        "what layer 01 manages",
        {
            "managed": Managed(
                bridges=frozenset({("pve", "vmbr1")}),
                storages=frozenset({"fast"}),
                pools=frozenset({"k8s"}),
                roles=True,
                realms=frozenset({"pve"}),
                acl_paths=frozenset({"/vms"}),
            )
        },
        {
            ("/nodes/pve", "Sys.Modify"),
            ("/sdn/zones/localnetwork/vmbr1", "SDN.Audit"),
            ("/storage", "Datastore.Allocate"),
            ("/storage/fast", "Datastore.Allocate"),
            ("/pool/k8s", "Pool.Allocate"),
            ("/access", "Sys.Modify"),
            ("/access/realm/pve", "Realm.AllocateUser"),
            ("/access/groups", "User.Modify"),
            ("/vms", "Permissions.Modify"),
        },
        {("/pool/k8s", "Pool.Audit")},
    ),
]


@pytest.mark.parametrize(
    ("changes", "there", "absent"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
def test_a_plan_needs(
    changes: dict[str, Any], there: set[tuple[str, str]], absent: set[tuple[str, str]]
) -> None:
    """What the calls of the rendered layers are checked for, and no more."""
    asked = {(need.path, need.privilege) for need in needs(plan(**changes))}
    assert there <= asked
    assert not absent & asked


def test_building_a_template_is_no_condition_for_cloning_it() -> None:
    """A token that only clones gets remarks about downloads, no refusal."""
    asked = needs(plan(images=(TEMPLATE_IMAGE,)))
    download = [need for need in asked if need.privilege == "Datastore.AllocateTemplate"]
    assert [need.required for need in download] == [False]


def test_no_role_says_more_than_its_path_needs() -> None:
    """The right to delete any volume is for the images' storage, not for that of the disks."""
    asked = needs(plan())
    made = roles(asked, "T")
    assert "Datastore.Allocate" not in made["TDisks"]
    assert "Datastore.Allocate" in made["TImages"]
    assert {g.path for g in grants(asked, "T") if g.role == "TImages"} == {"/storage/local"}
    assert Grant("/", "THost", propagate=False) in grants(asked, "T")
    assert Grant("/vms", "TVMs", propagate=True) in grants(asked, "T")


def test_a_privilege_of_some_paths_has_a_role_of_its_own() -> None:
    """The storage that holds images as well is readable without Datastore.Audit."""
    asked = needs(plan((vm(), vm("demo-cp-2", storage="local"))))
    made = roles(asked, "T")
    assert made["TDisks"] == {"Datastore.AllocateSpace"}
    assert made["TDisksAudit"] == {"Datastore.Audit"}
    given = {(g.path, g.role) for g in grants(asked, "T")}
    assert ("/storage/local-lvm", "TDisksAudit") in given
    assert ("/storage/local", "TDisksAudit") not in given


def test_an_entry_on_a_vm_of_the_plan_does_not_hide_its_rights() -> None:
    """A grant on one VM must not prevent changes of it; VMs of other users do not matter."""
    asked = needs(plan(managed=Managed(acl_paths=frozenset({"/vms/111", "/vms/500"}))))
    given = {(g.path, g.role, g.propagate) for g in grants(asked, "T")}
    assert {("/vms", "TVMs", True), ("/vms/111", "TVMs", False)} <= given
    assert ("/vms/500", "TGranting", False) in given
    assert ("/vms/500", "TVMs", False) not in given


def test_an_older_proxmox_gets_the_older_name() -> None:
    """Before version 9 the guest agent's privilege was VM.Monitor."""
    given = frozenset({"VM.GuestAgent.Audit", "VM.Audit"})
    assert spoken(given, {"Administrator": frozenset({"VM.Audit", "VM.Monitor"})}) == {
        "VM.Monitor",
        "VM.Audit",
    }
    assert spoken(given, {"Administrator": given}) == given
    assert spoken(given, {}) == given


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            pveum.role_line("TalopsDisks", ["B.C", "A.B"]),
            "pveum role add TalopsDisks --privs 'A.B B.C'",
        ),
        (
            pveum.more_line("TalopsDisks", ["A.B"]),
            "pveum role modify TalopsDisks --append 1 --privs A.B",
        ),
        (
            pveum.acl_line(Grant("/vms", "R", propagate=True), "me@pve!t"),
            "pveum acl modify /vms --tokens 'me@pve!t' --roles R --propagate 1",
        ),
        (
            pveum.acl_line(Grant("/", "R", propagate=False), "me@pve"),
            "pveum acl modify / --users me@pve --roles R --propagate 0",
        ),
        (
            pveum.content_line("local", ["iso", "import"]),
            "pvesm set local --content import,iso",
        ),
    ],
)
def test_lines_can_be_typed(line: str, text: str) -> None:
    """Quoted as a shell requires it: a token's name has an exclamation mark."""
    assert line == text


@pytest.mark.parametrize(
    ("who", "subjects"),
    [
        ("me@pve", ["--users me@pve"]),
        ("me@pve!t", ["--tokens 'me@pve!t'", "--users me@pve"]),
        ("root@pam!t", ["--tokens 'root@pam!t'"]),
    ],
)
def test_a_token_needs_its_user(who: str, subjects: list[str]) -> None:
    """Root always has all rights; another user's entry comes with a warning."""
    lines = pveum.acl_lines(Grant("/vms", "R", propagate=True), who)
    assert all(subject in line for subject, line in zip(subjects, lines, strict=True))
    assert all(pveum.ONLY_IF in line for line in lines[1:])
