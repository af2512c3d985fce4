"""Configs of a cluster that works: in order, tried first, by a roll, or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.reconfigure.conftest import FAILING, PROVEN

from talops.errors import ConflictError
from talops.lab.talos.config import validation
from talops.lab.talos.config.decoding import BadConfigError
from talops.machineconfig.secrets import bundle as bundles
from talops.reconfigure.trial import TrialError
from talops.redaction import Secret
from talops.rolls.marks import mark_of
from talops.talos.errors import InvalidRequestError

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable

    from tests.reconfigure.conftest import Changing

    from talops.lab.talos.config.document import MachineConfig

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Changing]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
NAMES = ("cp-1", "cp-2", "cp-3", "w-1", "w-2")
BLOCK = "{apiVersion: v1alpha1, kind: NetworkDefaultActionConfig, ingress: block}"
HOST = "{apiVersion: v1alpha1, kind: StaticHostConfig, name: 10.9.9.9, hostnames: [a.example]}"
LABEL = "{machine: {nodeLabels: {zone: b}}}"
ENV = "{machine: {env: {GRPC_TRACE: all}}}"


@pytest.mark.sampled("changed configs")
async def test_a_cluster_of_five(changing: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole cluster stays as it is by a bad change; a good one reaches every node, in order."""
    async with changing(*NAMES) as cluster:
        await _a_bad_patch_touches_one_node(cluster)
        await _one_refusal_stops_all(cluster, monkeypatch)
        await _another_key_is_refused(cluster)
        await _a_good_patch_is_tried_everywhere(cluster)
        await _a_reboot_drains_workers_one_by_one(cluster)
        await cluster.lab.assert_one_cluster()


async def _a_bad_patch_touches_one_node(cluster: Changing) -> None:
    """It cuts off the first node, which takes it back; no other node is told anything."""
    cluster.patch(LABEL, BLOCK)
    stored, told = cluster.stored(), cluster.told()
    error = await cluster.apply(FAILING)
    assert isinstance(error, TrialError), error
    assert error.where
    assert error.where.startswith("cluster.yaml:")
    assert error.hint == "correct NetworkDefaultActionConfig there, then: talops up"
    (touched,) = {name for name, mode in cluster.told()[len(told) :] if mode == "try"}
    assert f"{touched} does not work with its new config and runs the old one again" in error.what
    assert {name for name, _ in cluster.told()[len(told) :]} == {touched}
    assert cluster.stored() == stored
    assert all(cluster.lab.lab.node(name).reachable for name in NAMES)
    await cluster.lab.assert_one_cluster()


async def _one_refusal_stops_all(cluster: Changing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every node is asked before the first one gets it; the last one sees what others do not."""
    accept = validation.validate

    def validate(config: MachineConfig, **options: Any) -> list[str]:
        if config.hostname == "w-2":
            raise BadConfigError("no such disk")
        return accept(config, **options)

    cluster.patch(LABEL)
    stored, told = cluster.stored(), cluster.told()
    with monkeypatch.context() as patched:
        patched.setattr("talops.lab.talos.api.config.validate", validate)
        error = await cluster.apply()
    assert isinstance(error, InvalidRequestError), error
    assert error.where
    assert error.where.startswith("w-2")
    assert "no such disk" in error.what
    assert (cluster.stored(), cluster.told()) == (stored, told)


async def _another_key_is_refused(cluster: Changing) -> None:
    """A bundle with another secretbox key would make every Secret unreadable."""
    file = cluster.lab.root / "talos" / "talsecret.yaml"
    before, told = file.read_text(), cluster.told()
    other = replace(bundles.from_yaml(before, where="test"), secretbox=Secret("b3RoZXI=" * 4))
    file.write_text(other.to_yaml())
    error = await cluster.apply()
    assert isinstance(error, ConflictError), error
    assert "secretbox encryption key of cp-1, cp-2, cp-3: API servers could not" in error.what
    assert cluster.told() == told
    file.write_text(before)


async def _a_good_patch_is_tried_everywhere(cluster: Changing) -> None:
    """Control planes first, one node after the other, each proven before it stores the config."""
    cluster.patch(LABEL, HOST)
    boots, told = cluster.boots(), len(cluster.told())
    assert await cluster.apply() is None
    assert f"apply w-1 ({_differing()}: without a reboot, tried first)" in cluster.planned()
    done = cluster.told()[told:]
    order = list(dict.fromkeys(name for name, _ in done))
    assert {*order[:3]} == {"cp-1", "cp-2", "cp-3"}
    each = ["no_reboot", "try", "no_reboot"]  # the old one to be shown, the trial, the result
    assert done == [(name, mode) for name in order for mode in each]
    assert cluster.boots() == boots
    assert await cluster.apply() is None
    assert cluster.planned() == []


def _differing() -> str:
    return "machine.nodeLabels, StaticHostConfig/10.9.9.9"


async def _a_reboot_drains_workers_one_by_one(cluster: Changing) -> None:
    """Both workers boot again, drained one after the other; the control planes are not touched."""
    cluster.patch(LABEL, HOST, workers=ENV)
    before = cluster.boots()
    assert await cluster.apply() is None
    after = cluster.boots()
    assert {name for name in NAMES if before[name] != after[name]} == {"w-1", "w-2"}
    assert sorted(cluster.drained()) == ["w-1", "w-2"]
    first, second = cluster.drained()
    steps = cluster.steps()
    assert steps.index(("uncordoning", first)) < steps.index(("cordoning", second))
    nodes = await cluster.kube_nodes()
    assert not any(mark_of(node) or node["spec"].get("unschedulable") for node in nodes.values())


@pytest.mark.sampled("changed configs")
async def test_a_reboot_that_could_cut_off(changing: Start) -> None:
    """Talos 1.13 tries only what it changes live: that part is proven, taken back, then booted."""
    async with changing("cp-1", "w-1", "w-2") as cluster:
        cluster.patch(HOST, BLOCK, workers=ENV)
        boots = cluster.boots()
        error = await cluster.apply(FAILING)
        assert isinstance(error, TrialError), error
        assert cluster.boots() == boots
        cluster.patch("{machine: {files: [{path: /var/a, content: b, op: create}]}}", HOST)
        assert await cluster.apply(PROVEN) is None
        after = cluster.boots()
        assert all(boots[name] != after[name] for name in boots)
        assert await cluster.apply() is None
        assert cluster.planned() == []
