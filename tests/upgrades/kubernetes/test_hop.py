"""Upgrades of Kubernetes in clusters of the lab: order, proof, and where they stop.

Order, resources and annotations are those of Talos' pkg/cluster/kubernetes (talos_managed.go,
kubelet.go); the lab's resources are recordings of Talos 1.13.9, its API servers real ones.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import QUICK

from talops.app import pauses
from talops.errors import TalopsError
from talops.events import PartProgress, PlannedChange
from talops.files import write_atomic
from talops.lab.kubernetes.versioned import as_version
from talops.lab.talos.cluster import serving
from talops.lab.talos.machine.faults import Faults
from talops.machineconfig.kubernetes_images import STATIC_PODS, numbers, read
from talops.machineconfig.yamltext import dump_all
from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Absent, Reporter
from talops.rolls.permission import NotNowError
from talops.rolls.rolling import Rolling
from talops.site.fleet import Configured
from talops.stages.apply_config import ApplyConfig
from talops.stages.upgrade import Upgrade
from talops.talos.calls.machine import ApplyMode
from talops.upgrades.kubernetes.hop import Kubernetes
from talops.upgrades.kubernetes.mark import MARK
from talops.upgrades.versions import Span

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable
    from pathlib import Path

    from tests.upgrades.kubernetes.conftest import Upgrading

    from talops.events import Event

    Start = Callable[..., contextlib.AbstractAsyncContextManager[Upgrading]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
OLD, NEW = "v1.35.4", "v1.36.1"
THREE_AND_TWO = ("cp-1", "cp-2", "cp-3", "w-1", "w-2")


@pytest.mark.sampled("upgrades of Kubernetes")
async def test_stops_where_it_must_and_goes_on(
    upgrading: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missing image changes nothing, an API server that stays away stops it; then it goes on."""
    async with upgrading(*THREE_AND_TWO) as cluster, cluster.sampled():
        cluster.inventory(kubernetes=NEW)
        assert await cluster.hop().look() == Span(OLD, OLD)
        assert await cluster.hop().problems(NEW) == []
        before = cluster.applied()

        cluster.lab.lab.host.faults.set("w-2", Faults(image_missing="kubelet"))
        with pytest.raises(TalopsError, match=r"nothing was changed: w-2: .*kubelet:v1\.36\.1"):
            await cluster.hop().run(NEW)
        assert cluster.applied() == before
        cluster.lab.lab.host.faults.set("w-2", Faults())

        broken = _break_new_api_servers(monkeypatch, tmp_path)
        cluster.limits = replace(QUICK, kubernetes=15.0)
        with pytest.raises(TalopsError) as stopped:
            await cluster.hop().run(NEW)
        assert str(stopped.value.where).startswith(f"kube-apiserver {NEW} on cp-1")
        assert "kube-apiserver" in stopped.value.what
        assert "talops up" in str(stopped.value.hint)
        assert cluster.applied() == before + 1, "no other node was touched"
        cluster.limits = QUICK
        assert await cluster.hop().problems(NEW) == [], "an API server that is down forbids nothing"
        broken.unlink()
        assert await cluster.hop().look() == Span(OLD, NEW)

        await pauses.pause(cluster.site, "quarter end")
        with pytest.raises(NotNowError, match="quarter end"):
            await cluster.hop().run(NEW)
        assert cluster.applied() == before + 1, "a pause holds it back"
        await pauses.resume(cluster.site)

        cluster.events.clear()
        await cluster.hop().run(NEW)
        await _all_new(cluster)
        assert _done(cluster) == _order()
        assert all(numbers(kubelet) <= numbers(server) for server, kubelet in cluster.samples)
        # Once per component and node; the first of them before it stopped.
        assert cluster.applied() == before + 3 * 4 + 5

        await cluster.hop().run(NEW)
        assert cluster.applied() == before + 3 * 4 + 5, "a second run changes nothing"


def _break_new_api_servers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """They end as soon as they are started, as long as this file exists."""
    flag, script = folder / "broken", folder / "kube-apiserver"
    flag.touch()

    async def chosen(binary: Path, version: str, scratch: Path) -> Path:
        real = await as_version(binary, version, scratch)
        if version == OLD:
            return real
        write_atomic(script, f'#!/bin/sh\n[ -e {flag} ] && exit 1\nexec {real} "$@"\n', mode=0o700)
        return script

    monkeypatch.setattr(serving, "as_version", chosen)
    return flag


async def _all_new(cluster: Upgrading) -> None:
    assert await cluster.hop().look() == Span(NEW, NEW)
    assert set(cluster.kubelets().values()) == {NEW}
    for component in STATIC_PODS:
        assert set(cluster.pods(component).values()) == {NEW}
    nodes = await cluster.kube_nodes()
    assert {n["status"]["nodeInfo"]["kubeletVersion"] for n in nodes.values()} == {NEW}
    async with cluster.kube() as kube:
        assert await kube.version() == NEW
        assert await kube.get(MARK) is None


def _order() -> list[tuple[str, str]]:
    """Component by component over the control planes; then kubelets, those of workers last."""
    planes = [name for name in THREE_AND_TWO if name.startswith("cp")]
    found = [(f"upgrading {c} on", name) for c in (*STATIC_PODS, "kube-proxy") for name in planes]
    return [*found, *(("upgrading kubelet on", name) for name in THREE_AND_TWO)]


def _done(cluster: Upgrading) -> list[tuple[str, str]]:
    steps = cluster.steps()
    assert all(first != second for first, second in pairwise(steps))
    return steps


async def test_what_forbids_it(upgrading: Start) -> None:
    """Named beforehand: what the release removes, pinned images, hops that are not possible."""
    async with upgrading("cp-1") as cluster:
        args = '{cluster: {apiServer: {extraArgs: {feature-gates: "HonorPVReclaimPolicy=true"}}}}'
        cluster.inventory(kubernetes=NEW, patch=args)
        (found,) = await cluster.hop().problems(NEW)
        assert found.startswith(
            "cp-1: Kubernetes 1.36 does not know the feature gate HonorPVReclaimPolicy of "
            "kube-apiserver: remove it from cluster.yaml:"
        )
        assert await cluster.hop().problems("v1.35.9") == []
        before = cluster.applied()
        with pytest.raises(TalopsError, match=r"nothing was changed:\n  cp-1: Kubernetes 1\.36"):
            await cluster.hop().run(NEW)
        assert cluster.applied() == before

        cluster.inventory(kubernetes=NEW, patch="{machine: {kubelet: {image: 'k:v1.35.0'}}}")
        (pinned,) = await cluster.hop().problems(NEW)
        assert "pins kubelet to k:v1.35.0: remove it" in pinned
        assert "one minor version at a time" in (await cluster.hop().problems("v1.37.0"))[0]
        assert "set kubernetes_version: v1.35.4" in (await cluster.hop().problems("v1.34.0"))[0]


@pytest.mark.sampled("upgrades of Kubernetes")
async def test_the_stage_and_a_version_that_another_program_raised(upgrading: Start) -> None:
    """`up` raises it once; then neither the stage nor an ordinary config lowers it again."""
    async with upgrading("cp-1") as cluster:
        cluster.inventory(kubernetes=NEW)
        assert await _stage(cluster) == [f"Kubernetes {OLD} → {NEW}"]
        await _all_new(cluster)
        assert await _stage(cluster) == []

        cluster.inventory(kubernetes=OLD)
        before = cluster.applied()
        assert await _stage(cluster) == []
        with pytest.raises(TalopsError, match="never lowered") as refused:
            await cluster.hop().run(OLD)
        assert refused.value.hint == "set kubernetes_version: v1.36.1 in cluster.yaml"
        again = await cluster.lab.run("apply-config")
        assert again.error is None, again.error
        assert cluster.applied() == before
        assert cluster.kubelets() == {"cp-1": NEW}


@pytest.mark.sampled("upgrades of Kubernetes")
async def test_a_version_that_is_raised_after_the_plan(upgrading: Start) -> None:
    """A config that was planned before is applied with the versions that run by then."""
    async with upgrading("cp-1") as cluster:
        cluster.inventory(kubernetes=OLD, patch="{machine: {nodeLabels: {zone: b}}}")
        site = cluster.site
        stage = ApplyConfig(site, site.secrets, cluster.report)
        facts = await stage.observe()
        assert not isinstance(facts, Absent)
        (change,) = stage.plan(facts)
        await cluster.hop().run(NEW)
        await stage.apply(change)
        assert cluster.kubelets() == {"cp-1": NEW}
        config = cluster.lab.lab.node("cp-1").config
        assert config
        assert config.labels["zone"] == "b"
        assert await cluster.hop().look() == Span(NEW, NEW)


async def _stage(cluster: Upgrading) -> list[str]:
    """What the stage of `up` plans and does."""
    site = cluster.site
    stage = Upgrade(site, site.secrets, cluster.report)
    cluster.events.clear()
    done = await run_stages([stage], emit=cluster.events.append, options=Options())
    assert done.error is None, done.error
    return [event.target for event in cluster.events if isinstance(event, PlannedChange)]


@pytest.mark.sampled("upgrades of Kubernetes")
@pytest.mark.parametrize(
    ("talos", "contract", "to"),
    [("v1.12.11", "v1.12", "v1.35.9"), ("v1.14.1", "v1.14", NEW)],
)
async def test_other_versions_of_talos(
    upgrading: Start, talos: str, contract: str, to: str
) -> None:
    """Before 1.13 images are pulled by the old call; 1.14 has a document for each component."""
    lines = f"talos_version: {talos}\ntalos_contract: {contract}\n"
    async with upgrading("cp-1", version=talos, inventory=lines) as cluster:
        cluster.inventory(kubernetes=to)
        assert await cluster.hop().problems(to) == []
        await cluster.hop().run(to)
        assert await cluster.hop().look() == Span(to, to)
        config = cluster.lab.lab.node("cp-1").config
        assert config
        assert config.v1alpha1
        fields = "image" in (config.v1alpha1["machine"].get("kubelet") or {})
        documents = [d["image"] for d in config.of_kind("KubeletConfig")]
        image = f"ghcr.io/siderolabs/kubelet:{to}"
        assert (fields, documents) == ((False, [image]) if contract == "v1.14" else (True, []))
        pulled = cluster.lab.lab.node("cp-1").store.pulled()
        assert image in pulled
        assert f"registry.k8s.io/kube-apiserver:{to}" in pulled


@pytest.mark.sampled("upgrades of Kubernetes")
async def test_a_trial_of_a_config_is_not_made_permanent(upgrading: Start) -> None:
    """Any other config would confirm it: the upgrade begins after it has ended."""
    async with upgrading("cp-1") as cluster:
        fleet, node = await cluster.site.secrets.fleet(), cluster.node("cp-1")
        state = await fleet.look(node)
        assert isinstance(state, Configured)
        documents = read(state.config)
        documents[0]["machine"]["nodeLabels"] = {"trial": "yes"}
        async with fleet.talos(node) as talos:
            # Talos shows what is stored from the first config that is applied after a boot.
            await talos.machine.apply_configuration(state.config, mode=ApplyMode.NO_REBOOT)
            await talos.machine.apply_configuration(
                dump_all(documents), mode=ApplyMode.TRY, try_timeout=timedelta(seconds=5)
            )
        config = cluster.lab.lab.node("cp-1").config
        assert config
        assert config.labels["trial"] == "yes"
        await cluster.hop().run(NEW)
        config = cluster.lab.lab.node("cp-1").config
        assert config
        assert "trial" not in config.labels
        assert cluster.kubelets() == {"cp-1": NEW}


@pytest.mark.sampled("upgrades of Kubernetes")
async def test_a_kubelet_that_does_not_come_back(upgrading: Start) -> None:
    """The next node keeps its version; once the first one is Ready, the same command goes on."""
    async with upgrading("cp-1", "w-1", "w-2") as cluster:
        cluster.inventory(kubernetes=NEW)

        def interrupt(event: Event) -> None:
            if isinstance(event, PartProgress) and event.part == "w-1":
                raise InterruptedError

        site = cluster.site
        with pytest.raises(InterruptedError):
            await Kubernetes(site, Rolling(site), Reporter("upgrade", interrupt)).run(NEW)

        faults = cluster.lab.lab.host.faults

        def never_ready(event: Event) -> None:
            """From the moment at which its kubelet is upgraded."""
            if isinstance(event, PartProgress) and event.part == "w-1":
                faults.set("w-1", Faults(never_ready=True))

        # Only now are waits short: what is done already is checked at once.
        site = replace(cluster.site, limits=replace(QUICK, kubernetes=15.0))
        with pytest.raises(TalopsError, match="Node is not Ready") as stopped:
            await Kubernetes(site, Rolling(site), Reporter("upgrade", never_ready)).run(NEW)
        assert str(stopped.value.where).startswith(f"kubelet {NEW} on w-1")
        assert cluster.kubelets() == {"cp-1": NEW, "w-1": NEW, "w-2": OLD}

        faults.set("w-1", Faults())
        await cluster.hop().run(NEW)
        await _all_new(cluster)
