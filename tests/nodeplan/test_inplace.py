"""What `up` refuses for nodes, each with the way that works."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.nodeplan.test_order import cluster, healthy, machine

from talops.nodeplan.inplace import refused_in_place, refused_now
from talops.nodeplan.steps import Reason

if TYPE_CHECKING:
    from talops.nodeplan.machine import Machine

NODES = cluster(3, 2)
CP3, W1, W2 = NODES[2], NODES[3], NODES[4]
NEW = machine("new", 99, controller=False)


def but(*changed: Machine) -> list[Machine]:
    """The same nodes with these entries instead of their own."""
    own = {m.name: m for m in changed}
    return [own.get(m.name, m) for m in NODES]


def without(name: str, *more: Machine) -> list[Machine]:
    return [*(m for m in NODES if m.name != name), *more]


@pytest.mark.parametrize(
    ("after", "reason", "what", "safe"),
    [
        (
            without("w-1", replace(W1, name="big-1")),
            Reason.RENAMED,
            "big-1 has the address 10.0.0.51, MAC BC:24:11:00:00:33, VMID 151 of w-1",
            "talops up --allow-destroy w-1",
        ),
        (
            without("w-1", replace(NEW, address=W1.address)),
            Reason.RENAMED,
            "new has the address 10.0.0.51 of w-1",
            "leave new out of nodes.yaml and remove w-1 first",
        ),
        (
            but(replace(CP3, controller=False)),
            Reason.ROLE,
            "cp-3 is a control plane, and the inventory makes it a worker",
            "talops replace cp-3",
        ),
        (
            but(replace(CP3, address="10.0.0.77")),
            Reason.REPLACED,
            "cp-3 cannot change in place: address: 10.0.0.3 → 10.0.0.77",
            "talops replace cp-3",
        ),
        (but(replace(W1, disk=20)), Reason.REPLACED, "disk: 40 → 20", "talops replace w-1"),
        (but(replace(W1, mac="BC:24:11:00:09:09")), Reason.REPLACED, "mac: ", "talops replace w-1"),
        (but(replace(W1, vm_id=900)), Reason.REPLACED, "vm_id: 151 → 900", "talops replace w-1"),
        (
            but(replace(W1, address=W2.address), replace(W2, address=W1.address)),
            Reason.TAKEN,
            "w-1 gets the address 10.0.0.52, which w-2 still has",
            "in two steps: give w-1 a free address",
        ),
        (
            but(replace(W1, mac=W2.mac), replace(W2, mac=W1.mac)),
            Reason.TAKEN,
            "w-1 gets the MAC",
            "in two steps: give w-1 a free MAC",
        ),
        (
            [NODES[0], *NODES[3:]],
            Reason.REMOVALS,
            "cp-2, cp-3 would leave etcd in one run",
            "remove one, run talops up, then the next",
        ),
    ],
    ids=[
        *("renamed", "took its address", "role", "address of a control plane", "smaller disk"),
        *("MAC", "VMID", "swapped addresses", "swapped MACs", "two of three"),
    ],
)  # fmt: skip
def test_what_up_refuses(after: list[Machine], reason: Reason, what: str, safe: str) -> None:
    """Said before anything is changed."""
    (found, *_) = refused_in_place(NODES, after, healthy(NODES))
    assert found.reason is reason
    assert what in found.what
    assert safe in found.safe


@pytest.mark.parametrize(
    "after",
    [
        NODES,
        but(replace(W1, cores=8, memory=8192, disk=80)),
        but(replace(W1, address="10.0.0.88")),
        but(replace(CP3, host="pve2")),
        without("w-1"),
        without("cp-3"),
        [*NODES, machine("w-3", 53, controller=False), machine("cp-4", 4, controller=True)],
    ],
    ids=["nothing", "resized", "address of a worker", "host", "worker", "plane", "new"],
)
def test_what_up_does(after: list[Machine]) -> None:
    """No other command is needed."""
    assert refused_in_place(NODES, after, healthy(NODES)) == ()


def test_no_removal_while_another_member_is_lost() -> None:
    """The hint is not to remove the next one: three such runs cost etcd its majority."""
    world = healthy(NODES, ("cp-2",))
    (found,) = refused_now(NODES, without("cp-3"), world, removing=True)
    assert found.reason is Reason.SICK
    assert found.safe == "repair etcd first: talops talos etcd status"
    assert refused_now(NODES, NODES, world, removing=False) == ()


def test_the_last_control_plane() -> None:
    """The same for one that is removed as for one that is renamed."""
    nodes = cluster(1, 1)
    (found,) = refused_in_place(nodes, nodes[1:], healthy(nodes))
    assert found.reason is Reason.ONLY
