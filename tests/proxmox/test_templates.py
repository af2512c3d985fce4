"""Templates on the lab: created once, reused, removed only where nothing uses them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.proxmox.conftest import running

from talops.errors import (
    ConflictError,
    DeniedError,
    PreflightError,
    TalopsError,
    WaitTimeoutError,
)
from talops.lab.faults import Fault
from talops.lab.proxmox.vm.records import Vm
from talops.lab.spec import STORAGES, HypervisorSpec, LabSpec, NodeSpec, StorageSpec, cluster
from talops.proxmox import tasks
from talops.proxmox.client import Client
from talops.proxmox.provenance import TAG, Provenance, read_provenance
from talops.proxmox.template_build import build
from talops.proxmox.templates import Hardware, Recipe, listed, remove

if TYPE_CHECKING:
    from pathlib import Path

    from tests.proxmox.conftest import Lab

EMPTY = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
MARK = Provenance("v1.13.9", EMPTY, "nocloud", secureboot=False, source="image")
HARDWARE = Hardware("ovmf", "q35", "virtio-scsi-single", "host", "vmbr0", "local-lvm", disk_gib=10)


def recipe(lab: Lab, **changes: object) -> Recipe:
    url = f"{lab.image_url}/{EMPTY}/v1.13.9/nocloud-amd64.qcow2"
    given = Recipe("talos-v1.13.9-base", "pve", 9000, MARK, HARDWARE, "local", "talos.qcow2", url)
    return replace(given, **changes)  # type: ignore[arg-type]  # rows of tests, by name


def iso(lab: Lab, **changes: object) -> Recipe:
    given = recipe(lab, provenance=replace(MARK, source="iso"), file_name="talos.iso", **changes)
    return replace(given, url=given.url.replace("qcow2", "iso"))


async def test_a_template_holds_talos_and_nothing_else(lab: Lab, root: Client) -> None:
    """The disk is the image's, there is no cloud-init drive and no address."""
    made = await build(root, recipe(lab), lambda _: None)
    assert (made.vm_id, made.host, made.provenance) == (9000, "pve", MARK)
    config = await root.get("nodes/pve/qemu/9000/config")
    assert config["template"] == 1
    assert "base-9000-disk" in config["scsi0"]
    assert not {"ide2", "ipconfig0", "cicustom", "efidisk0"} & set(config)
    assert read_provenance(config["description"]) == MARK


async def test_a_second_build_finds_the_first(lab: Lab, root: Client) -> None:
    """Neither a download nor a VM more."""
    await build(root, recipe(lab), lambda _: None)
    before = len(lab.pve.tasks.table.values())
    said: list[str] = []
    assert (await build(root, recipe(lab), said.append)).vm_id == 9000
    assert said == []
    assert len(lab.pve.tasks.table.values()) == before


async def test_an_iso_template_boots_the_iso(lab: Lab, root: Client) -> None:
    """Its disk is empty and the ISO comes second."""
    await build(root, iso(lab), lambda _: None)
    config = await root.get("nodes/pve/qemu/9000/config")
    assert config["ide3"].startswith("local:iso/talos.iso")
    assert config["boot"] == "order=scsi0;ide3"


async def test_a_second_build_does_not_trust_the_list(lab: Lab, stale: Client) -> None:
    """A list without names and template flags once made it remove a finished template."""
    await build(stale, recipe(lab), lambda _: None)
    before = len(lab.pve.tasks.table.values())
    for vm_id in (9000, None):
        assert (await build(stale, recipe(lab, vm_id=vm_id), lambda _: None)).vm_id == 9000
    assert len(lab.pve.tasks.table.values()) == before
    assert [(t.name, t.ours) for t in await listed(stale)] == [("talos-v1.13.9-base", True)]


async def test_two_builds_at_once_make_one_template(lab: Lab, root: Client) -> None:
    """The second waits for the VM of the first, or finds its file; nothing is removed."""
    both = (build(root, recipe(lab), lambda _: None) for _ in range(2))
    made = await asyncio.gather(*both)
    assert [each.vm_id for each in made] == [9000, 9000]
    assert [t.vm_id for t in await listed(root)] == [9000]
    began = [task.kind for task in lab.pve.tasks.table.values()]
    assert not {"qmdestroy", "imgdel"} & set(began)


async def test_a_half_made_template_is_finished(lab: Lab, root: Client) -> None:
    """A run that was killed between the VM and its becoming a template."""
    path = "/nodes/pve/qemu/9000/template"
    lab.world.faults.add(Fault(kind="error", path=path, status=500, times=1))
    with pytest.raises(TalopsError):
        await build(root, recipe(lab), lambda _: None)
    said: list[str] = []
    disk = (await root.get("nodes/pve/qemu/9000/config"))["scsi0"]
    await build(root, recipe(lab), said.append)
    assert "incomplete" in said[0]
    assert [t.vm_id for t in await listed(root)] == [9000]
    made = (await root.get("nodes/pve/qemu/9000/config"))["scsi0"]
    assert made == disk.replace("vm-9000", "base-9000")


async def test_a_creation_that_never_ends_is_named(lab: Lab, root: Client) -> None:
    """A host that lost power while it created the VM leaves the lock behind."""
    lab.pve.vms.put("9000", Vm(9000, "pve", {"lock": "create"}))
    with pytest.raises(WaitTimeoutError, match=r"VM 9000 is locked \(create\)"):
        await build(root, recipe(lab), lambda _: None, longest=0)
    assert "9000" in lab.pve.vms


async def test_every_host_gets_its_own(tmp_path: Path) -> None:
    """With the next free VMID unless one is given, and reused by name and host."""
    spec = LabSpec(proxmox=(cluster("pve", ["pve", "pve2"]),))
    async with running(tmp_path / "lab", spec) as lab, Client(lab.access()) as root:
        for _ in range(2):
            await build(root, recipe(lab), lambda _: None)
            await build(root, recipe(lab, host="pve2", vm_id=None), lambda _: None)
        found = await listed(root)
    assert [(t.host, t.vm_id) for t in found] == [("pve", 9000), ("pve2", 100)]


async def test_what_is_not_ours_is_left_alone(lab: Lab, root: Client) -> None:
    """A VM of another user in its place is named, and neither used nor removed."""
    await tasks.run(root, "POST", "nodes/pve/qemu", {"vmid": 9000, "name": "precious"})
    with pytest.raises(ConflictError, match="precious"):
        await build(root, recipe(lab), lambda _: None)
    await tasks.run(root, "POST", "nodes/pve/qemu/9000/template")
    (found,) = await listed(root)
    assert not found.ours
    with pytest.raises(PreflightError, match="not created by talops"):
        await remove(root, found)
    assert "9000" in lab.pve.vms


async def test_another_version_is_not_taken_for_the_right_one(lab: Lab, root: Client) -> None:
    """The name may be chosen freely; what counts is what it holds."""
    await build(root, recipe(lab), lambda _: None)
    newer = recipe(lab, provenance=replace(MARK, version="v1.13.10"))
    with pytest.raises(ConflictError, match=r"holds Talos v1\.13\.9"):
        await build(root, newer, lambda _: None)


async def test_a_vm_that_cannot_be_seen_conflicts_too(lab: Lab, root: Client) -> None:
    """A token without VM.Audit is told why, instead of failing halfway."""
    await tasks.run(root, "POST", "nodes/pve/qemu", {"vmid": 9000})
    async with Client(lab.access(lab.token(("/storage", "Datastore.Audit", 1)))) as blind:
        with pytest.raises(ConflictError, match="may not see"):
            await build(blind, recipe(lab), lambda _: None)


async def test_a_template_with_linked_clones_stays(tmp_path: Path) -> None:
    """Their disks depend on its own (except on thin LVM); later it can be removed."""
    tank = StorageSpec(storage="tank", type="zfspool", content="images")
    host = HypervisorSpec(name="pve", nodes=(NodeSpec(name="pve"),), storages=(*STORAGES, tank))
    async with (
        running(tmp_path / "lab", LabSpec(proxmox=(host,))) as lab,
        Client(lab.access()) as root,
    ):
        hardware = replace(HARDWARE, disk_storage="tank")
        await build(root, recipe(lab, hardware=hardware), lambda _: None)
        clone = "nodes/pve/qemu/9000/clone"
        await tasks.run(root, "POST", clone, {"newid": 200, "full": 0})
        await tasks.run(root, "POST", clone, {"newid": 201, "full": 1})
        (found,) = await listed(root)
        assert found.clones == (200,)
        with pytest.raises(PreflightError, match="VM 200 depend on"):
            await remove(root, found)
        await tasks.run(root, "DELETE", "nodes/pve/qemu/200")
        (found,) = await listed(root)
        await remove(root, found)
        assert await listed(root) == []
        assert "201" in lab.pve.vms


async def test_a_token_without_rights_is_refused_in_words(lab: Lab, root: Client) -> None:
    """The privilege that is missing stands in the error."""
    token = lab.token(("/vms", "VM.Audit", 1), ("/storage/local", "Datastore.Audit", 0))
    async with Client(lab.access(token)) as client:
        with pytest.raises(DeniedError, match=r"Datastore\.AllocateTemplate"):
            await build(client, recipe(lab), lambda _: None)


def test_a_mark_reads_back() -> None:
    """Whatever else a user writes into the description."""
    text = f"Our base.\n\n{MARK.line()}\nDo not touch."
    assert read_provenance(text) == MARK
    assert read_provenance("talops template: who knows") is None
    assert TAG == "talops-template"
