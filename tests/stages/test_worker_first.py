"""A worker that got its config before any control plane did: silent, and yet nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.harness import until
from tests.lab.talos.site import QUICK
from tests.stages.test_node_faults import SHORT, standing

from talops.events import PlannedChange
from talops.lab.talos.machine.faults import Faults

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.lab.talos.site import NodeSite

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = pytest.mark.slow


@pytest.fixture
async def site(
    tmp_path: Path,
    tool: Callable[[str], Path],
    bundle: Bundle,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[NodeSite]:
    """A run in which the control plane had no space for its config, and the worker had."""
    monkeypatch.setattr("talops.talos.transport.CONNECT_TIMEOUT", 0.5)
    async with standing(tmp_path, tool, bundle) as it:
        await it.start("cp-1", "w-1")
        for name in ("cp-1", "w-1"):
            await it.lab.listening(name)
        it.lab.host.faults.set("cp-1", Faults(disk_full=True))
        first = await it.run("apply-config", SHORT)
        assert "no space left on device" in str(first.error)
        await until(lambda: _installed(it))
        it.events.clear()
        yield it


async def _installed(site: NodeSite) -> bool:
    """It boots from its disk, and no control plane signs its certificate."""
    worker = site.lab.node("w-1")
    booted = worker.config is not None and bool(worker.store.installation().version)
    return booted and worker.status.stage.label == "booting"


def planned(site: NodeSite) -> list[tuple[str, str]]:
    return [(e.action, e.target) for e in site.events if isinstance(e, PlannedChange)]


async def test_the_next_run_brings_it_back(site: NodeSite) -> None:
    """The control plane is configured, etcd is bootstrapped, and the worker answers."""
    site.lab.host.faults.clear("cp-1")
    again = await site.run("workers", QUICK)
    assert again.error is None, again.error
    assert planned(site) == [("install", "cp-1"), ("await", "w-1")]


async def test_an_inventory_that_changed_meanwhile(site: NodeSite) -> None:
    """What it lacks by then it gets in the same run."""
    site.lab.host.faults.clear("cp-1")
    nodes = site.root / "nodes.yaml"
    nodes.write_text(nodes.read_text().replace("name: w-1,", "name: w-1, labels: {zone: b},"))
    again = await site.run("workers", QUICK)
    assert again.error is None, again.error
    worker = site.lab.node("w-1")
    assert worker.config
    assert b"zone: b" in worker.config.raw


async def test_a_worker_that_lost_its_disk_meanwhile(site: NodeSite) -> None:
    """It comes up in maintenance mode, after it was observed, and is installed again."""
    site.lab.host.faults.clear("cp-1")
    machine = site.lab.machines["w-1"]
    await site.lab.host.destroy(machine.uuid)
    site.lab.host.faults.set("w-1", Faults(slow_boot=2.0))
    await site.lab.host.power_on(machine)
    again = await site.run("workers", QUICK)
    assert again.error is None, again.error


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        (Faults(disk_full=True), "no space left on device"),
        (Faults(wrong_disk=True), "install disk is /dev/sda; disks: /dev/vda"),
    ],
    ids=["full disk", "wrong disk"],
)
async def test_a_control_plane_that_still_fails(site: NodeSite, faults: Faults, words: str) -> None:
    """It is the one that is named, whatever else waits for it."""
    site.lab.host.faults.set("cp-1", faults)
    again = await site.run("workers", SHORT)
    assert words in str(again.error)
    assert "cp-1" in str(again.error)
