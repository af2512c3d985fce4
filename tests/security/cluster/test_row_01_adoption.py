"""Another user's VM with a VMID or a name of ours: never adopted, never destroyed (row 1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.proxmox.healthy import OURS, P, facts
from tests.tofu.test_apply import CONDUCT, applier, cluster, run
from tests.tofu.world import World, address, node

from talops.checks.before.host import judge
from talops.pipeline.checks import Verdict
from talops.proxmox.check import problems as host_problems
from talops.proxmox.wanted import RecordedVm
from talops.site.proxmox.existing_vms import lost_vms, occupied
from talops.tofu.creation_record import CreationRecord
from talops.tofu.identity import problems, recorded
from talops.tofu.plan import VM, Change
from talops.tofu.policy import Policy, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAC, OTHER_MAC = "BC:24:11:00:00:01", "BC:24:11:99:99:99"
# As `GET /nodes/pve/qemu/121/config` of Proxmox VE 9.2 shows a VM, without what does not matter.
CONFIG = {
    "vmid": 121,
    "node": "pve",
    "name": "demo-w-1",
    "tags": "demo;worker",
    "net0": f"virtio={MAC},bridge=vmbr0",
    "scsi0": "local-lvm:vm-121-disk-0,size=40G",
    "smbios1": "uuid=5f0c1f5e-3b1c-4a43-9d0b-9d6c6b3a7e11",
}
STRANGER = {
    **CONFIG,
    "tags": "",
    "net0": f"virtio={OTHER_MAC},bridge=vmbr0",
    "scsi1": "local-lvm:vm-121-disk-1,size=64G",
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tags": frozenset[str]()}, "does not carry the tag demo"),
        ({"macs": frozenset({OTHER_MAC})}, f"has {OTHER_MAC} instead of"),
        ({"macs": None}, "cannot be read"),
    ],
    ids=["no tag", "other MAC", "unreadable"],
)
def test_preflight_refuses_a_leftover(change: dict[str, Any], reason: str) -> None:
    """The name and the VMID of a node do not make a VM ours."""
    found = host_problems(P, facts(P, guests=(replace(OURS, **change),)))
    left = [each for each in found if each.rule == "leftover"]
    assert [reason in each.what for each in left] == [True]
    assert {each.verdict for each in judge(left, "https://pve:8006")} == {Verdict.FAILED}


@pytest.mark.parametrize(
    "change",
    [{"tags": frozenset()}, {"name": "renamed"}, {"macs": frozenset({OTHER_MAC})}],
    ids=["no tag", "other name", "other MAC"],
)
def test_a_vm_of_the_state_may_drift(change: dict[str, Any]) -> None:
    """What a user changed of our own VM is a difference; no address, MAC or VMID is taken."""
    known = {OURS.vm_id: RecordedVm(OURS.name, OURS.macs or frozenset())}
    wanted = replace(P, recorded=known)
    found = host_problems(wanted, facts(wanted, guests=(replace(OURS, **change),)))
    assert [each.rule for each in found] == ["drifted"]
    assert "mac_addr" not in found[0].hint
    assert "vm_id" not in found[0].hint


def test_a_stranger_with_a_vmid_of_the_state() -> None:
    """Name, tag and MAC of another VM: the state is older than that VM."""
    known = {OURS.vm_id: RecordedVm(OURS.name, OURS.macs or frozenset())}
    stranger = replace(
        OURS, name="other", tags=frozenset(), macs=frozenset({OTHER_MAC}), addresses=frozenset()
    )
    wanted = replace(P, recorded=known)
    found = host_problems(wanted, facts(wanted, guests=(stranger,)))
    assert [each.rule for each in found] == ["vmid"]


def creation(vm_id: int | None = 121) -> Change:
    after = {
        "name": "demo-w-1",
        "vm_id": vm_id,
        "tags": ["demo", "worker"],
        "network_device": [{"mac_address": MAC}],
    }
    return Change(address("demo-w-1"), VM, ("create",), {}, after, {}, ({}, {}))


@pytest.mark.parametrize("vm_id", [121, None], ids=["by VMID", "by name"])
def test_a_running_stranger_is_not_what_a_killed_run_began(vm_id: int | None) -> None:
    """Not even if a record says that talops was creating a VM of that name."""
    assert lost_vms([STRANGER], [creation(vm_id)], running={121}) == {}
    assert lost_vms([CONFIG], [creation(vm_id)], running={121}) == {creation().address: "pve/121"}
    half = {"vmid": 121, "node": "pve", "name": "demo-w-1"}
    assert lost_vms([half], [creation(vm_id)]) == {creation().address: "pve/121"}


async def test_a_vmid_that_is_taken(tmp_path: Path) -> None:
    """Nothing is created and nothing noted: so the record cannot vouch for that VM later."""
    world = World(wanted=cluster())

    async def taken(changes: Sequence[Change]) -> Mapping[str, str]:
        found = {c.address for c in changes if c.name == "w-1"}
        return dict.fromkeys(found, "VM 121 (w-1) on pve already exists: it lacks the tags demo")

    with pytest.raises(RefusedError, match=r"VM 121 .* lacks the tags demo"):
        await run(world, tmp_path, replace(CONDUCT, occupied=taken))
    assert world.actual == {}
    assert CreationRecord(tmp_path / "creating.json").read() == {}


async def test_only_new_vms_have_to_be_free(tmp_path: Path) -> None:
    """A plan that creates nothing sends no request."""
    assert await occupied(None, []) == {}  # type: ignore[arg-type]  # it is not used
    world = World(wanted=cluster(), actual=cluster())

    async def never(changes: Sequence[Change]) -> Mapping[str, str]:
        assert changes == []
        return {}

    await run(world, tmp_path, replace(CONDUCT, occupied=never))


ADDRESS = f'module.node["demo-w-1"].{VM}.this'
# As `tofu state pull` prints what bpg/proxmox recorded, without what does not matter.
STATE = {
    "resources": [
        {
            "module": 'module.node["demo-w-1"]',
            "mode": "managed",
            "type": VM,
            "name": "this",
            "instances": [
                {
                    "attributes": {
                        "name": "demo-w-1",
                        "vm_id": 121,
                        "network_device": [{"mac_address": MAC}],
                        "disk": [{"interface": "scsi0", "path_in_datastore": "vm-121-disk-0"}],
                    }
                }
            ],
        }
    ]
}
GOING = Change(ADDRESS, VM, ("delete",), {"name": "demo-w-1", "vm_id": 121}, {}, {}, ({}, {}))
UUID = "5f0c1f5e-3b1c-4a43-9d0b-9d6c6b3a7e11"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (CONFIG, ""),
        ({**CONFIG, "name": "mail"}, "is called mail, not demo-w-1"),
        ({**CONFIG, "tags": "other"}, "lacks the tag demo"),
        ({**CONFIG, "net0": f"virtio={OTHER_MAC}"}, f"has {OTHER_MAC} instead of {MAC}"),
        ({**CONFIG, "smbios1": f"uuid={UUID[::-1]}"}, "has UUID"),
        ({**CONFIG, "scsi1": "local-lvm:vm-121-disk-1"}, "scsi1 (local-lvm:vm-121-disk-1)"),
        ({**CONFIG, "unused0": "local-lvm:vm-121-disk-1"}, "the disk unused0"),
        ({**CONFIG, "scsi0": "local-lvm:vm-121-disk-7"}, "instead of vm-121-disk-0"),
        ({**CONFIG, "scsi4": "ceph:vm-9999-pvc-1"}, ""),  # Proxmox leaves it
        ({**CONFIG, "ide2": "local-lvm:vm-121-cloudinit,media=cdrom"}, ""),
        ({**CONFIG, "efidisk0": "local-lvm:vm-121-disk-3"}, ""),
        (None, "Proxmox does not show it"),
    ],
)
def test_a_vm_that_is_about_to_be_destroyed(config: dict[str, Any] | None, reason: str) -> None:
    """It and each of its disks are those that the state recorded at their creation."""
    configs = {121: config} if config else {}
    found = problems([GOING], recorded(STATE), configs, "demo", {"demo-w-1": UUID})
    assert bool(found) is bool(reason)
    assert reason in "; ".join(found.get("demo-w-1", []))


def test_a_stranger_in_the_state() -> None:
    """One that an older version adopted lacks the tag; its disks are its own."""
    known = {ADDRESS: replace(recorded(STATE)[ADDRESS], macs=frozenset({OTHER_MAC}))}
    found = problems([GOING], known, {121: STRANGER}, "demo", {})
    assert found["demo-w-1"][:2] == ["VM 121", "lacks the tag demo"]
    assert "scsi1" in found["demo-w-1"][2]


async def test_identity_is_proven_before_every_destruction(tmp_path: Path) -> None:
    """Also of the second attempt, and with `everything` allowed as `down` does."""
    world = World(wanted=cluster(), actual=cluster(), faults={"w-3": ["got timeout"]})
    asked: list[set[str]] = []

    async def identify(changes: Sequence[Change]) -> None:
        asked.append({change.name for change in changes})
        if len(asked) > 1:
            raise RefusedError("VM 121 is not the recorded one")

    conduct = replace(CONDUCT, policy=Policy(everything=True), destroy=True, identify=identify)
    saved = tmp_path / "x.tfplan"
    await world.plan(saved, destroy=True)
    with pytest.raises(RefusedError, match="not the recorded one"):
        await applier(world, tmp_path, conduct).apply(saved)
    assert asked == [{*cluster()}, {"w-3"}]
    assert set(world.actual) == {"w-3"}


def test_names_of_nodes() -> None:
    """The record of the destruction names nodes as the inventory does."""
    assert GOING.node == "demo-w-1"
    assert replace(GOING, before=node("renamed")).node == "demo-w-1"
