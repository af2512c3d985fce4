"""Every change that stops or destroys something says so, in every workflow that can plan it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.tofu.test_judge import judged

from talops.approval import Impact
from talops.delivery.objects import ObjectChange
from talops.site.node_facts import AWAIT, FIRST, UPDATE, ConfigChange
from talops.stages.destroy import DestroyChange
from talops.stages.provision import LayerChange
from talops.stages.reset_nodes import ResetChange
from talops.stages.restore import LostData
from talops.stages.salvage import PUSH, REMOVE, UNLOCK, SalvageChange
from talops.tofu.approval import IMPACT
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from talops.pipeline.stage import Change

VMS = ('module.node["w-1"].proxmox_virtual_environment_vm.vm', "proxmox_download_file.iso")
ROWS: list[tuple[str, Change, set[Impact]]] = [
    ("down: a node", ResetChange("reset", "w-1", "", "w-1"), {Impact.DESTROYS}),
    ("down: VMs", DestroyChange("destroy", "02", addresses=VMS), {Impact.DESTROYS}),
    ("reset: a member", ResetChange("remove", "etcd member cp-1"), {Impact.DESTROYS}),
    ("recover: an empty etcd", LostData("bootstrap", "etcd on cp-1"), {Impact.DESTROYS}),
    ("recover: a lock", SalvageChange(UNLOCK, "02"), {Impact.CUTS_OFF}),
    ("recover: a state", SalvageChange(PUSH, "02"), {Impact.CHANGES}),
    ("recover: a plan", SalvageChange(REMOVE, "x.tfplan"), {Impact.CHANGES}),
    ("up: a new node", ConfigChange(FIRST, "w-1", reboots=True), {Impact.CREATES}),
    ("up: a reboot", ConfigChange(UPDATE, "w-1", reboots=True), {Impact.RESTARTS}),
    ("up: a config", ConfigChange(UPDATE, "w-1"), {Impact.CHANGES}),
    (
        "up: a service",
        ConfigChange(UPDATE, "w-1", services=("kubelet",)),
        {Impact.RESTARTS_SERVICE},
    ),
    ("up: a fixed setting", ConfigChange(UPDATE, "w-1", fixed=("hostname",)), {Impact.REPLACES}),
    ("up: a wait", ConfigChange(AWAIT, "w-1"), {Impact.CHANGES}),
    ("drift --fix: an object", ObjectChange("apply", "x", gentle=True), {Impact.CREATES}),
    ("up: an object", ObjectChange("apply", "x"), {Impact.CHANGES}),
]


@pytest.mark.parametrize(("change", "impacts"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_the_impact_of(change: Change, impacts: set[Impact]) -> None:
    """What a later plan is compared by; each VM of a layer is an object of its own."""
    items = change.items()
    assert items is not None
    assert {item.impact for item in items} == impacts
    if isinstance(change, DestroyChange):
        assert [(item.object, item.name) for item in items] == [
            (VMS[0], "w-1"),
            (VMS[1], VMS[1]),
        ]


def test_a_layer_is_its_resources() -> None:
    """With the effects that the judge of plans found; unknown before the layers below it."""
    found = judged(
        {"changes": [{"vm": "w-1", "actions": ["delete", "create"]}], "attached": "same"}
    )
    change = LayerChange("apply", "02", "1 to replace", layer="02", judged=tuple(found))
    (item,) = change.items() or ()
    assert (item.impact, item.name) == (Impact.REPLACES, "w-1")
    assert item.object == f"02 {found[0].address}"
    assert LayerChange("apply", "02", layer="02").items() is None


def test_every_effect_of_a_plan_has_an_impact() -> None:
    """In the same order, so that an effect does not become harmless."""
    assert set(IMPACT) == set(Effect)
    in_order = [IMPACT[effect] for effect in sorted(Effect)]
    assert in_order == sorted(in_order)
    assert len(set(in_order)) == len(in_order)
