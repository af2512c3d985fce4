"""The stages of each workflow, in order, with Proxmox and on bare metal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.pipeline.later import Later
from talops.pipeline.stage import Reporter
from talops.site.site import Site
from talops.stages.restore import RecoveryChoice
from talops.tofu.policy import Policy
from talops.workflows import down, recover, repair, reset, up
from talops.workflows.repair import Repairs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.pipeline.stage import AnyStage

BEFORE = ["preflight", "configure"]
AFTER = [
    *("upgrade", "apply-config", "bootstrap", "workers"),
    *("kubeconfig", "addons", "gitops", "verify"),
]
# After all stages that take nodes out of service.
UP_AFTER = [*AFTER[:5], "remove", "return", *AFTER[5:]]
UP_BEFORE = ["nodes", *BEFORE]


class Deaf:
    """A record that is not read."""

    def report(self, stage: str) -> Reporter:
        return Reporter(stage, lambda _: None)


RECORD: Any = Deaf()


@pytest.fixture
def site(example: Example, tmp_path: Path) -> Site:
    nothing: Any = None
    return Site(example("ha"), tmp_path, {}, {}, nothing, tmp_path, tmp_path)


def bare(site: Site) -> Site:
    return replace(site, cluster=replace(site.cluster, proxmox=None))


def names(stages: list[AnyStage]) -> list[str]:
    return [stage.name for stage in stages]


def test_up(site: Site) -> None:
    """Every stage that is loaded late is the one that was announced."""
    stages = up.up(site, RECORD, Policy())
    assert names(stages) == [*UP_BEFORE, "images", "provision", *UP_AFTER]
    late = [stage for stage in stages if isinstance(stage, Later)]
    assert [stage._stage.name for stage in late] == [*UP_BEFORE, "images", *UP_AFTER]
    assert names(up.up(bare(site), RECORD, Policy())) == [*UP_BEFORE, *UP_AFTER]


def test_recover(site: Site) -> None:
    """Like `up`, after what is there has come back into the state."""
    stages = recover.recover(site, RECORD, RecoveryChoice())
    assert names(stages) == [*BEFORE, "images", "salvage", "adopt", "provision", *AFTER[1:]]
    assert names(recover.recover(bare(site), RECORD, RecoveryChoice())) == [*BEFORE, *AFTER[1:]]


def test_down(site: Site) -> None:
    """Without Proxmox there is nothing to destroy."""
    flags: Any = {"force": False, "every_layer": False, "keep_state": False}
    stages = down.down(site, RECORD, **flags)
    assert names(stages) == ["reset", "destroy", "forget", "leftovers"]
    assert names(down.down(bare(site), RECORD, **flags)) == ["reset", "forget"]


@pytest.mark.parametrize(("keep_vm", "middle"), [(False, ["destroy"]), (True, [])])
def test_reset(site: Site, keep_vm: bool, middle: list[str]) -> None:
    """The VM may stay."""
    node = site.cluster.nodes[0]
    stages = reset.reset(site, RECORD, node, force=False, keep_vm=keep_vm)
    assert names(stages) == ["reset", *middle, "forget"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Repairs(), []),
        (Repairs(files=True), ["configure"]),
        (Repairs(nodes=("ha-cp-1",), gitops=True), ["apply-config", "gitops"]),
        (
            Repairs(layers=True, node_labels=True, addons=True),
            ["provision", "node-marks", "addons"],
        ),
    ],
)
def test_repair(site: Site, wanted: Repairs, expected: list[str]) -> None:
    """Only what differs, from the files inwards; nothing to repair: no run."""
    assert names(repair.repair(site, RECORD, wanted)) == expected
    assert bool(wanted) == bool(expected)
