"""Versions of Kubernetes in machine configs: kept by an ordinary config, raised by an upgrade.

The shape that an upgrade changes is that of Talos' generate/stdpatches/guess.go (pkg/machinery).
The configs are those that tests/machineconfig/test_golden.py compares with Talos' own generator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import MachineConfig, generate
from talops.machineconfig.kubernetes_images import (
    CONTROL_PLANE,
    Component,
    Held,
    at_version,
    held,
    hold,
    hold_as,
    images,
    numbers,
    pinned,
    version_of,
    versions,
    with_images,
)
from talops.machineconfig.request import ClusterRequest, NodeRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.machineconfig.secrets.bundle import Bundle

    Base = Callable[[str], list[dict[str, Any]]]

SHAPES = ("1.13", "1.14", "1.14 worker")


@pytest.fixture
def base(bundle: Bundle) -> Callable[[str], list[dict[str, Any]]]:
    """The documents of a node with Kubernetes v1.35.2."""

    def make(shape: str) -> list[dict[str, Any]]:
        contract, _, role = shape.partition(" ")
        cluster = ClusterRequest("demo", Contract(contract), "https://10.5.0.10:6443", "1.35.2")
        node = NodeRequest("n", control_plane=not role, installer="installer:v1", disk="/dev/vda")
        return list(generate(cluster, node, bundle).documents)

    return make


def config(documents: list[dict[str, Any]]) -> MachineConfig:
    return MachineConfig("n", control_plane=True, documents=tuple(documents))


@pytest.mark.parametrize("shape", SHAPES)
def test_an_upgrade_changes_images_and_nothing_else(shape: str, base: Base) -> None:
    """In the shape that the config has: both at once are refused by Talos."""
    before = base(shape)
    first = images(before)
    assert Component.KUBELET in first
    assert (set(CONTROL_PLANE) <= set(first)) == ("worker" not in shape)
    changed = with_images(before, {c: at_version(i, "v1.99.1") for c, i in first.items()})
    assert set(versions(changed).values()) == {"v1.99.1"}
    assert list(with_images(changed, first)) == before == base(shape)
    assert [d.get("kind") for d in changed] == [d.get("kind") for d in before]


@pytest.mark.parametrize(
    ("image", "version", "raised"),
    [
        ("registry.k8s.io/kube-proxy:v1.35.4", "v1.35.4", "registry.k8s.io/kube-proxy:v1.36.0"),
        ("h:5000/kubelet:v1.35.4-fat", "v1.35.4", "h:5000/kubelet:v1.36.0-fat"),
        ("h/kubelet:v1.36.0-rc.1", "v1.36.0-rc.1", "h/kubelet:v1.36.0"),
        ("h/kubelet:v1.35.4@sha256:ab", "v1.35.4", "h/kubelet:v1.35.4@sha256:ab"),
        ("h:5000/kubelet", "", "h:5000/kubelet"),
        ("h/kubelet:latest", "", "h/kubelet:latest"),
    ],
)
def test_versions_of_images(image: str, version: str, raised: str) -> None:
    """Registries, variants of the kubelet and digests; a digest has no other version."""
    assert version_of(image) == version
    assert at_version(image, "v1.36.0") == raised
    assert pinned(image) == ("sha256" in image)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_config_keeps_the_versions_that_run(shape: str, base: Base) -> None:
    """A new kubernetes_version does not change the config; other changes pass."""
    running, wanted = base(shape), base(shape)
    raised = {c: at_version(i, "v1.99.1") for c, i in images(wanted).items()}
    wanted = with_images(wanted, raised)
    wanted[0] = wanted[0] | {"debug": True}
    kept = hold_as(config(wanted), yamltext.dump_all(running))
    assert [d for d in kept.config.documents if "kind" in d] == running[1:]
    assert kept.config.documents[0] == running[0] | {"debug": True}
    assert {h.component for h in kept.held} == set(raised)
    assert {(h.wanted, h.running) for h in kept.held} == {
        ("v1.99.1", version) for version in versions(running).values()
    }


def test_a_version_that_was_raised_is_not_lowered(base: Base) -> None:
    """The same rule in the other direction."""
    wanted = base("1.14")
    running = with_images(wanted, {c: at_version(i, "v1.99.1") for c, i in images(wanted).items()})
    assert hold_as(config(wanted), yamltext.dump_all(running)).config.documents == tuple(running)


def test_a_config_that_changes_its_shape(base: Base) -> None:
    """From fields to documents: the versions come along."""
    running = with_images(
        base("1.13"), {c: f"other/{c}:v1.30.0" for c in (*CONTROL_PLANE, Component.KUBELET)}
    )
    kept = hold_as(config(base("1.14")), yamltext.dump_all(running)).config
    assert set(versions(kept.documents).values()) == {"v1.30.0"}
    assert images(kept.documents)[Component.SCHEDULER] == "registry.k8s.io/kube-scheduler:v1.30.0"


def test_a_pinned_image_stays_whole(base: Base) -> None:
    """The image of another version cannot be derived from a digest."""
    wanted = with_images(base("1.13"), {Component.KUBELET: "h/kubelet:v1.36.0@sha256:bb"})
    now = with_images(base("1.13"), {Component.KUBELET: "h/kubelet:v1.35.0@sha256:aa"})
    kept = hold_as(config(wanted), yamltext.dump_all(now)).config
    assert images(kept.documents)[Component.KUBELET] == "h/kubelet:v1.35.0@sha256:aa"


def test_new_nodes_get_what_runs(base: Base) -> None:
    """All components at the version of the oldest API server."""
    kept = hold(config(base("1.14 worker")), dict.fromkeys(Component, "v1.30.2"))
    assert versions(kept.config.documents) == {Component.KUBELET: "v1.30.2"}
    assert not hold(config(base("1.14 worker")), {}).held


def test_a_component_without_an_image() -> None:
    """Its version is the default of Talos: it follows the oldest one that is known."""
    documents = with_images([{"machine": {}}], {Component.KUBELET: "k:v1.36.0"})
    running = {Component.API_SERVER: "v1.35.9", Component.SCHEDULER: "v1.35.10"}
    assert held(documents, running) == (Held(Component.KUBELET, "v1.36.0", "v1.35.9"),)


def test_versions_in_order() -> None:
    """By numbers, and a release after its candidates."""
    ordered = ["?", "v1.9.9", "v1.36.0-alpha.2", "v1.36.0-beta.0", "v1.36.0-rc.1", "v1.36.0"]
    ordered += ["v1.36.2", "v1.36.10", "v1.37.0-rc.0"]
    assert sorted(sorted(ordered), key=numbers) == ordered
