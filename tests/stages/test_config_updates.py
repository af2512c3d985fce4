"""A config that changes on a running node: live, or with a reboot that talops itself asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.site import QUICK
from tests.stages.test_node_faults import standing

from talops.events import PlannedChange
from talops.inventory.load import load
from talops.machineconfig.build import build_configs
from talops.site.fleet import Fleet
from talops.talos.calls.machine import ApplyMode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lab.talos.site import NodeSite

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = pytest.mark.slow


def patch(site: NodeSite, text: str) -> None:
    """Every node gets this patch from now on, and no other."""
    cluster = site.root / "cluster.yaml"
    kept = cluster.read_text().partition("patches:")[0]
    cluster.write_text(f"{kept}patches: [{text}]\n")


def planned(site: NodeSite) -> list[str]:
    seen = [event for event in site.events if isinstance(event, PlannedChange)]
    return [f"{event.action} {event.target} ({event.detail})" for event in seen]


@pytest.mark.sampled("stages on nodes")
@pytest.mark.parametrize("version", ["v1.13.9", "v1.14.1"])
async def test_reboots_where_the_change_needs_it(
    version: str, tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """Labels change live; a service's environment waits for a reboot, which 1.14 never mentions."""
    async with standing(tmp_path, tool, bundle) as site:
        await site.start("cp-1", version=version)
        await site.lab.listening("cp-1")
        assert (await site.run("bootstrap")).error is None
        node = site.lab.node("cp-1")
        first = node.boot_id

        patch(site, "{machine: {nodeLabels: {zone: b}}}")
        site.events.clear()
        live = await site.run("apply-config", QUICK)
        assert live.error is None, live.error
        assert planned(site) == ["apply cp-1 (machine.nodeLabels: without a reboot)"]
        assert site.lab.node("cp-1").boot_id == first

        patch(site, "{machine: {nodeLabels: {zone: b}, env: {GRPC_TRACE: all}}}")
        site.events.clear()
        again = await site.run("apply-config", QUICK)
        assert again.error is None, again.error
        assert planned(site) == ["apply cp-1 (machine.env: reboots for machine.env.GRPC_TRACE)"]
        assert site.lab.node("cp-1").boot_id != first

        site.events.clear()
        settled = await site.run("apply-config", QUICK)
        assert settled.error is None, settled.error
        assert planned(site) == []


@pytest.mark.sampled("stages on nodes")
async def test_a_run_that_ended_before_the_reboot(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """The node has stored the new config and runs the old one: the next run sees a difference."""
    async with standing(tmp_path, tool, bundle) as site:
        await site.start("cp-1", version="v1.14.1")
        await site.lab.listening("cp-1")
        assert (await site.run("bootstrap")).error is None
        first = site.lab.node("cp-1").boot_id
        patch(site, "{machine: {env: {GRPC_TRACE: all}}}")
        await _store_only(site)
        site.events.clear()
        again = await site.run("apply-config", QUICK)
        assert again.error is None, again.error
        assert planned(site) == ["apply cp-1 (machine.env: reboots for machine.env.GRPC_TRACE)"]
        assert site.lab.node("cp-1").boot_id != first


async def _store_only(site: NodeSite) -> None:
    """The first half of what the stage does."""
    cluster = load(site.root).require()
    configs = build_configs(cluster, site.bundle, lambda _: "")
    async with Fleet(site.bundle).talos(cluster.control_planes[0]) as talos:
        text = configs["cp-1"].to_yaml()
        await talos.machine.apply_configuration(text, mode=ApplyMode.STAGED)


@pytest.mark.sampled("stages on nodes")
async def test_a_new_kubernetes_version_is_no_change_of_configs(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> None:
    """It waits for an upgrade, also beside other changes; a new node gets what the others run."""
    async with standing(tmp_path, tool, bundle) as site:
        await site.start("cp-1", "w-1")
        await site.lab.listening("cp-1")
        await site.lab.listening("w-1")
        only_plane = await site.run("kubeconfig", nodes="^cp-1$")
        assert only_plane.error is None, only_plane.error

        cluster = site.root / "cluster.yaml"
        cluster.write_text(cluster.read_text().replace("v1.36.1", "v1.36.3"))
        patch(site, "{machine: {nodeLabels: {zone: b}}}")
        site.events.clear()
        both = await site.run("kubeconfig")
        assert both.error is None, both.error
        assert planned(site)[0] == "apply cp-1 (machine.nodeLabels: without a reboot)"
        for name in ("cp-1", "w-1"):
            config = site.lab.node(name).config
            assert config is not None
            assert (config.kubelet_version, config.labels["zone"]) == ("v1.36.1", "b")

        cluster.write_text(cluster.read_text().replace("v1.36.3", "v1.35.4"))
        site.events.clear()
        older = await site.run("apply-config")
        assert older.error is None, older.error
        assert planned(site) == []
