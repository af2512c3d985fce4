"""What all findings have in common: complete, and never without a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.proxmox.conftest import plan, vm
from tests.proxmox.healthy import (
    BRIDGE,
    CLONED,
    GPU,
    HOST,
    LOCAL,
    OTHER,
    OURS,
    TAGGED,
    THIN,
    P,
    facts,
    without,
)

from talops.proxmox.check import problems
from talops.proxmox.check.networks import passes
from talops.proxmox.facts import MappedDevice, Unread
from talops.proxmox.wanted import GIB, Managed, Wanted


@pytest.mark.parametrize(
    "wanted", [plan(), GPU, CLONED, TAGGED], ids=["plain", "gpu", "clone", "vlan"]
)
def test_nothing_is_found_where_nothing_is_missing(wanted: Wanted) -> None:
    """No finding without a reason."""
    assert problems(wanted, facts(wanted)) == []


def test_everything_is_said_at_once() -> None:
    """All problems at once, not one after the other."""
    found = problems(
        TAGGED,
        facts(
            TAGGED,
            permissions=without(TAGGED, "/vms", "VM.Clone", "VM.Allocate"),
            interfaces=(replace(BRIDGE, vlan_aware=False),),
            storages=(replace(LOCAL, content=frozenset()), THIN),
            guests=(replace(OTHER, vm_id=111),),
        ),
    )
    assert [each.rule for each in found] == ["privilege", "content", "vlan", "vmid"]


def test_our_own_vms_are_no_collision_and_take_no_new_room() -> None:
    """After a run the same check is still content, on a host that is now full."""
    full = replace(HOST, used_memory=32 * GIB)
    mine = replace(OURS, memory=32 * GIB, macs=frozenset({"BC:24:11:00:00:01"}))
    seen = facts(P, guests=(mine,), hosts=(full,), storages=(LOCAL, replace(THIN, free=0)))
    assert problems(P, seen) == []


@pytest.mark.parametrize("name", ["demo-cp-1", ""])
def test_a_vm_that_an_earlier_run_began_is_ours(name: str) -> None:
    """It has no tags and maybe not even its name yet; a VM of another user does not match."""
    begun = replace(P, vms=tuple(replace(vm, begun=True) for vm in P.vms))
    half = replace(OURS, name=name, tags=frozenset(), macs=frozenset(), running=False)
    assert problems(begun, facts(begun, guests=(half,))) == []
    runs = replace(half, running=True)
    assert problems(begun, facts(begun, guests=(runs,))) != [], "a VM starts when it has all"
    other = replace(half, name="somebody-elses")
    assert "vmid" in [f.rule for f in problems(begun, facts(begun, guests=(other,)))]


def test_what_layer_one_makes_is_not_missing() -> None:
    """Before its first apply there is no such bridge, storage or mapping, and that is right."""
    device = MappedDevice("pve", "0000:01:00.0", "10de:2204", 14, "1458:403b")
    wanted = plan(
        [vm(gpus=("gpu0",), bridge="vmbr7", storage="fast")],
        managed=Managed(
            bridges=frozenset({("pve", "vmbr7")}),
            storages=frozenset({"fast"}),
            mappings={"gpu0": (device,)},
        ),
    )
    assert problems(wanted, facts(wanted, mappings=())) == []


def test_a_vm_without_an_address_collides_with_none() -> None:
    """VMs beside the cluster name none, and interfaces without one are many."""
    wanted = plan([vm(address="")])
    bare = replace(BRIDGE, name="eno1", type="eth", address="")
    assert problems(wanted, facts(wanted, interfaces=(BRIDGE, bare))) == []


def test_rights_on_a_pool_are_enough_for_its_vms() -> None:
    """A user with rights in the pool needs no rights on all VMs, except to see and tag them."""
    wanted = plan([vm(pool="k8s")])
    held = facts(wanted).permissions
    assert not isinstance(held, Unread)
    pool = {**held["/vms"], **held["/pool/k8s"]}
    seen = {"VM.Audit": True, "VM.Config.Options": True}
    moved = {**held, "/vms": seen, "/pool/k8s": pool}
    assert problems(wanted, facts(wanted, permissions=moved)) == []


@pytest.mark.parametrize(
    ("vlans", "tag", "expected"),
    [
        ("", 5, True),
        ("2-4094", 20, True),
        ("2,20", 20, True),
        ("2 10-15", 20, False),
        ("7", 7, True),
    ],
)
def test_which_tags_pass(vlans: str, tag: int, expected: bool) -> None:
    """Proxmox separates the list by spaces, commas or semicolons."""
    assert passes(vlans, tag) is expected
