"""The stages of each workflow, in order, with Proxmox and on bare metal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.pipeline.later import Later
from talops.site.site import Site
from talops.stages.restore import RecoveryChoice
from talops.tofu.policy import Policy
from talops.workflows import down, recover, reset, up

if TYPE_CHECKING:
    from pathlib import Path

    from tests.examples import Example

    from talops.pipeline.stage import AnyStage

BEFORE = ["preflight", "configure"]
AFTER = ["apply-config", "bootstrap", "workers", "kubeconfig", "addons", "gitops", "verify"]


class Deaf:
    """A recorder that nobody reads."""

    def learn(self, *_: object) -> None: ...

    def emit(self, _: object) -> None: ...


RECORDER: Any = Deaf()


@pytest.fixture
def site(example: Example, tmp_path: Path) -> Site:
    nothing: Any = None
    return Site(example("ha"), tmp_path, nothing, tmp_path, {}, {}, tmp_path)


def bare(site: Site) -> Site:
    return replace(site, cluster=replace(site.cluster, proxmox=None))


def names(stages: list[AnyStage]) -> list[str]:
    return [stage.name for stage in stages]


def test_up(site: Site) -> None:
    """Every stage that is loaded late is the one that was announced."""
    stages = up.up(site, RECORDER, Policy())
    assert names(stages) == [*BEFORE, "images", "provision", *AFTER]
    late = [stage for stage in stages if isinstance(stage, Later)]
    assert [stage._stage.name for stage in late] == [*BEFORE, "images", *AFTER]
    assert names(up.up(bare(site), RECORDER, Policy())) == [*BEFORE, *AFTER]


def test_recover(site: Site) -> None:
    """Like `up`, after what is there has come back into the state."""
    nothing: Any = None
    stages = recover.recover(site, RECORDER, RecoveryChoice(), nothing)
    assert names(stages) == [*BEFORE, "images", "salvage", "adopt", "provision", *AFTER]
    assert names(recover.recover(bare(site), RECORDER, RecoveryChoice(), nothing)) == [
        *BEFORE,
        *AFTER,
    ]


def test_down(site: Site) -> None:
    """Without Proxmox there is nothing to destroy."""
    nothing: Any = None
    flags: Any = {"force": False, "every_layer": False, "keep_state": False}
    stages = down.down(site, RECORDER, nothing, **flags)
    assert names(stages) == ["reset", "destroy", "forget", "leftovers"]
    assert names(down.down(bare(site), RECORDER, nothing, **flags)) == ["reset", "forget"]


@pytest.mark.parametrize(("keep_vm", "middle"), [(False, ["destroy"]), (True, [])])
def test_reset(site: Site, keep_vm: bool, middle: list[str]) -> None:
    """The VM may stay."""
    node = site.cluster.nodes[0]
    stages = reset.reset(site, RECORDER, node, force=False, keep_vm=keep_vm)
    assert names(stages) == ["reset", *middle, "forget"]
