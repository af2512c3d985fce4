"""What counts as left behind, and what belongs to others."""

from __future__ import annotations

from pathlib import Path

from talops.inventory.load import load
from talops.proxmox.facts import Guest
from talops.site.proxmox.wanted import wanted
from talops.stages.leftovers import left_states, left_vms, left_volumes
from talops.statestore.backends.interface import StateInfo

CLUSTER = load(Path(__file__).parent.parent.parent / "examples" / "ha").require()
ASKED = wanted(CLUSTER)
FIRST = ASKED.vms[0]


def guest(vm_id: int, name: str, *tags: str, mac: str = "", template: bool = False) -> Guest:
    macs = frozenset({mac} if mac else ())
    return Guest(vm_id, name, "pve1", True, template, frozenset(tags), macs=macs)


def test_vms_of_this_cluster_alone() -> None:
    """By its tag, or by the MAC of one of its nodes; templates and others stay unnamed."""
    seen = [
        guest(7, "lost", CLUSTER.name),
        guest(8, "moved", mac=FIRST.mac.upper()),
        guest(9, "mail", "web"),
        guest(10, "base", CLUSTER.name, template=True),
    ]
    found = [leftover.what for leftover in left_vms(ASKED, seen)]
    assert [what.split()[1] for what in found] == ["7", "8"]


def test_volumes_without_owner_and_images_of_this_cluster() -> None:
    """A disk whose VMID now belongs to another user is theirs."""
    one, two = (vm.vm_id for vm in ASKED.vms[:2])
    volumes = {
        ("pve1", f"local-lvm:vm-{one}-disk-0"),
        ("pve1", f"local-lvm:vm-{two}-disk-0"),
        ("pve1", "local-lvm:vm-9999-disk-0"),
        ("pve1", f"local:iso/{CLUSTER.name}-talos-v1.iso"),
        ("pve1", "local:iso/other-talos-v1.iso"),
    }
    found = left_volumes(ASKED, [guest(two or 0, "somebody")], volumes)
    assert [leftover.hint for leftover in found] == [
        f"on pve1: pvesm free local-lvm:vm-{one}-disk-0",
        f"on pve1: pvesm free local:iso/{CLUSTER.name}-talos-v1.iso",
    ]


def test_states_that_still_exist() -> None:
    """One that was never made, or was removed, is not left."""
    found = left_states([StateInfo("a", serial=4), StateInfo("b")], "https://s/p")
    assert [leftover.what for leftover in found] == ["state a at https://s/p, serial 4"]
