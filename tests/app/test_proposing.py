"""`talops init --from-proxmox`: what a host has → an inventory that fits it."""

from __future__ import annotations

import random
from dataclasses import replace
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

import pytest
from tests.proxmox.healthy import BRIDGE, CARD, HOST, LOCAL, MAPPING, OTHER, SOUND, THIN

from talops.app.proposing.choose import Wish, propose
from talops.app.proposing.look import Stock
from talops.errors import TalopsError
from talops.inventory.load import load
from talops.inventory.samples import Answers, Proposal, cluster_text, nodes_text
from talops.proxmox.facts import Device, Guest, Host, Interface, Storage, Unread
from talops.proxmox.wanted import GIB

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.model import Cluster

WIDE = replace(BRIDGE, network="10.9.0.2/24", address="10.9.0.2", gateway="10.9.0.254")


def stock(**changes: Any) -> Stock:
    given: dict[str, Any] = {
        "who": "root@pam",
        "hosts": (replace(HOST, memory=128 * GIB),),
        "storages": (LOCAL, THIN),
        "interfaces": (WIDE,),
        "guests": (),
        "devices": (CARD, SOUND),
        "mappings": (MAPPING,),
        "vm_id_base": 100,
    }
    return Stock(**{**given, **changes})


WISH = Wish("https://pve:8006", 3, 2)


def written(directory: Path, found: tuple[IPv4Network, Proposal], wish: Wish = WISH) -> Cluster:
    """The inventory that the proposal becomes; fails if `check` would refuse it."""
    network, proposal = found
    answers = Answers(
        name="home",
        cidr=network,
        control_planes=wish.controllers,
        workers=wish.workers,
        talos_version="v1.13.9",
        kubernetes_version="v1.35.1",
        proxmox_url=wish.url,
        proxmox_node=proposal.node.value,
        proposal=proposal,
    )
    (directory / "cluster.yaml").write_text(cluster_text(answers), encoding="utf-8")
    (directory / "nodes.yaml").write_text(nodes_text(answers), encoding="utf-8")
    loaded = load(directory)
    assert loaded.cluster, [problem.what for problem in loaded.problems]
    return loaded.cluster


def test_values_come_from_the_host_with_their_reasons(tmp_path: Path) -> None:
    """Storages, bridge, network, gateway, VMIDs and sizes; the reason is on the same line."""
    cluster = written(tmp_path, propose(stock(vm_id_base=300), WISH))
    assert cluster.proxmox
    assert (cluster.proxmox.iso_storage, cluster.proxmox.disk_storage) == ("local", "local-lvm")
    assert str(cluster.network.cidr) == "10.9.0.0/24"
    assert str(cluster.network.gateway) == "10.9.0.254"
    assert [node.vm.vm_id for node in cluster.nodes if node.vm] == [311, 312, 313, 321, 322]
    assert [node.vm.memory for node in cluster.nodes if node.vm] == [8192] * 3 + [16384] * 2
    text = (tmp_path / "cluster.yaml").read_text("utf-8")
    assert "proxmox_iso_storage: local   # takes ISO images, 90 GiB free" in text
    assert "running guests have 0 GiB" in text
    assert "if it fails, the cluster fails" in text


def test_memory_of_running_guests_is_not_given_away(tmp_path: Path) -> None:
    """What they may use counts; a stopped guest and a template use none."""
    busy = replace(OTHER, running=True, memory=80 * GIB, host="pve")
    found = propose(stock(guests=(busy, replace(busy, vm_id=8, running=False))), WISH)
    cluster = written(tmp_path, found)
    assert [node.vm.memory for node in cluster.nodes if node.vm] == [4096] * 3 + [8192] * 2
    full = propose(stock(guests=(replace(busy, memory=120 * GIB),)), WISH)[1]
    assert "plan fewer nodes" in full.worker_memory.reason


def test_nodes_are_spread_over_hosts_that_are_alike(tmp_path: Path) -> None:
    """A host without the bridge or a storage is left out, and is said to be."""
    names = ("pve", "pve2", "pve3")
    found = propose(
        stock(
            hosts=tuple(Host(name, online=True, cores=8, memory=64 * GIB) for name in names),
            storages=tuple(replace(s, host=n) for n in names for s in (LOCAL, THIN)),
            interfaces=tuple(replace(WIDE, host=n) for n in names[:2]),
            devices=(),
        ),
        WISH,
    )
    cluster = written(tmp_path, found)
    hosts = [node.vm.host for node in cluster.nodes if node.vm]
    assert sorted(hosts) == ["pve", "pve", "pve", "pve2", "pve2"]
    assert "pve3 is not used: it lacks the storages or the bridge above" in found[1].notes


def test_a_free_card_is_offered_to_a_worker(tmp_path: Path) -> None:
    """Commented, with the name of its mapping; without the comment signs, `check` accepts it."""
    written(tmp_path, propose(stock(), WISH))
    nodes = tmp_path / "nodes.yaml"
    text = nodes.read_text("utf-8")
    assert text.count(f"    # gpus: [{MAPPING.name}]") == 1
    nodes.write_text(
        "\n".join(line.replace("    # ", "    ", 1) for line in text.splitlines()), "utf-8"
    )
    cluster = load(tmp_path).cluster
    assert cluster
    assert [node.gpus for node in cluster.nodes if node.gpus] == [(MAPPING.name,)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"devices": (replace(CARD, group=None),)}, "not in an IOMMU group"),
        ({"devices": (CARD, replace(CARD, path="0000:02:00.0", class_="0200"))}, "shares IOMMU"),
        ({"guests": (replace(OTHER, host="pve", devices=(CARD.path,)),)}, "used by VM"),
        ({"guests": (replace(OTHER, host="pve", devices=(MAPPING.name,)),)}, "used by VM"),
        ({"devices": Unread("denied")}, "GPUs could not be read: denied"),
        ({"mappings": Unread("denied")}, "PCI mappings could not be read: denied"),
    ],
)
def test_a_card_that_no_vm_can_have_is_named(changes: dict[str, Any], words: str) -> None:
    """Not offered in nodes.yaml, and the reason is among the notes."""
    found = propose(stock(**changes), WISH)[1]
    assert any(words in note for note in found.notes), found.notes
    if "mappings" not in changes:
        assert not any(place.extras for place in found.placements)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"storages": (LOCAL,)}, "sees no storage for disks of VMs on pve"),
        ({"storages": (THIN,)}, "sees no storage that takes ISO images on pve"),
        ({"interfaces": ()}, "sees no active bridge on pve"),
    ],
)
def test_what_every_vm_needs_is_missing(changes: dict[str, Any], words: str) -> None:
    """An error that says who sees nothing, before any file is written."""
    with pytest.raises(TalopsError, match=words):
        propose(stock(**changes), WISH)


def test_used_addresses_are_passed_over() -> None:
    """Those of guests, of hosts and the gateway; a small network is refused."""
    near = replace(OTHER, addresses=frozenset({"10.9.0.12"}))
    assert propose(stock(guests=(near,)), WISH)[1].block == 30
    small = replace(WISH, cidr=IPv4Network("10.9.0.0/28"))
    with pytest.raises(TalopsError, match="no free block of addresses for 5 nodes"):
        propose(stock(), small)


def test_random_hosts_give_inventories_that_check_accepts(tmp_path: Path) -> None:
    """Names that YAML reads as something else, control characters, hosts of all sizes."""
    rng = random.Random(22)
    for number in range(60):
        place = tmp_path / str(number)
        place.mkdir()
        wish = Wish("https://pve:8006", rng.choice([1, 3, 5]), rng.randint(0, 4))
        written(place, propose(_random(rng), wish), wish)


def _random(rng: random.Random) -> Stock:
    names = rng.sample(["pve", "on", "node-1", "a", "null"], rng.randint(1, 4))
    disk, bridge = rng.choice(["ssd", "yes", "tank"]), rng.choice(["vmbr0", "vmbr1", "no"])
    return stock(
        hosts=tuple(
            Host(n, online=True, cores=rng.choice([None, 2, 64]), memory=_memory(rng))
            for n in names
        ),
        storages=tuple(s for n in names for s in (replace(LOCAL, host=n), _disk(rng, disk, n))),
        interfaces=tuple(
            Interface(bridge, n, "bridge", True, rng.random() < 0.5, network="10.3.0.9/16")
            for n in names
        ),
        devices=tuple(
            Device(
                rng.choice(names), f"0000:0{i}:00.0", "10de:2204", i, "0300", "RTX\n\x1b[31m3090"
            )
            for i in range(rng.randint(0, 3))
        ),
        mappings=(),
        guests=tuple(
            Guest(200 + i, "old", rng.choice(names), running=True, template=False, memory=4 * GIB)
            for i in range(rng.randint(0, 9))
        ),
        vm_id_base=rng.choice([100, 1200]),
    )


def _memory(rng: random.Random) -> int | None:
    return rng.choice([None, 8 * GIB, 64 * GIB, 512 * GIB])


def _disk(rng: random.Random, name: str, host: str) -> Storage:
    size = rng.randint(1, 4000) * GIB
    return Storage(name, host, "zfspool", frozenset({"images"}), True, False, size)
