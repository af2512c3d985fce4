"""A VM is a node only by VMID, name, MAC and UUID together, and the node itself agrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.proxmox.conftest import vm

from talops.adoption.claims import PlannedVm
from talops.adoption.matching import Self, match_nodes
from talops.proxmox.facts import Guest

UUID, OTHER = "5f0c1f5e-3b1c-4a43-9d0b-9d6c6b3a7e11", "00000000-3b1c-4a43-9d0b-9d6c6b3a7e11"
MAC, OTHER_MAC = "BC:24:11:00:00:01", "BC:24:11:99:99:99"
GUEST = Guest(
    111, "demo-cp-1", "pve", running=True, template=False, macs=frozenset({MAC}), uuid=UUID
)
SELF = Self(UUID, frozenset({MAC}))
WISH = PlannedVm("02-platforms/demo", "module.node", vm())


def test_all_four_and_the_node_itself() -> None:
    """The tag of a cluster is not needed: who created the VM had no reason to set it."""
    claims, doubts = match_nodes([WISH], [GUEST], {"demo-cp-1": SELF})
    assert [(claim.identity, claim.what) for claim in claims] == [("pve/111", "VM demo-cp-1")]
    assert doubts == []


@pytest.mark.parametrize(
    ("guest", "node", "words"),
    [
        ({"vm_id": 112}, {}, "VM 112 on pve does not have VMID 111"),
        ({"name": "mail"}, {}, "has the name mail"),
        ({"macs": frozenset({OTHER_MAC})}, {}, f"has MAC {OTHER_MAC} instead of {MAC}"),
        ({"macs": None}, {}, "could not be read"),
        ({"uuid": OTHER}, {}, f"has UUID {OTHER}, the running node {UUID}"),
        ({"uuid": ""}, {}, "has no UUID"),
        ({"host": "pve2"}, {}, "is not on host pve"),
        ({"template": True}, {}, "is a template"),
        ({}, {"macs": frozenset({OTHER_MAC})}, "has no link with MAC"),
        ({}, {"uuid": ""}, "the running node none"),
        ({}, {"named": OTHER}, f"nodes.yaml says {OTHER}"),
        (
            {"vm_id": 7, "macs": frozenset({OTHER_MAC}), "uuid": OTHER},
            {},
            "does not have VMID 111; has MAC",
        ),
    ],
)
def test_each_of_them_alone_refuses(
    guest: dict[str, Any], node: dict[str, Any], words: str
) -> None:
    """The last row is a VM that matches by name alone."""
    claims, doubts = match_nodes(
        [WISH], [replace(GUEST, **guest)], {"demo-cp-1": replace(SELF, **node)}
    )
    assert claims == []
    assert len(doubts) == 1
    assert words in doubts[0]


def test_a_node_without_a_vm_or_a_vmid() -> None:
    """Nothing is guessed: the VMID is written to nodes.yaml by the user."""
    assert match_nodes([WISH], [], {"demo-cp-1": SELF})[1] == [
        f"demo-cp-1: no VM has VMID 111, its name or MAC {MAC}"
    ]
    unnumbered = replace(WISH, vm=vm(vm_id=None))
    claims, doubts = match_nodes([unnumbered], [GUEST], {"demo-cp-1": SELF})
    assert claims == []
    assert "write vm_id: 111 to nodes.yaml" in doubts[0]
