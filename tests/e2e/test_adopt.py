"""A running cluster that talops did not create becomes its own, and nothing of it stops."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.crashes import Event, run_until
from tests.e2e.plain import ADVANCED, Plain, bring_up
from tests.e2e.test_crash_matrix import nth

from talops.machineconfig.places import PLAIN

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
Tool = Callable[[str], "Path"]
WORKER = """\
  - name: e2e-w-1
    address: {address}
    controller: false
    vm_id: 121
"""


async def test_a_cluster_made_without_talops(make_lab: MakeLab, tool: Tool, tmp_path: Path) -> None:
    """Adopted, although killed twice: the same boots, members and tasks of VMs; the second
    `up` finds nothing to do; then a worker joins.
    """
    async with make_lab(control_planes=1, workers=0, sealed=True) as lab:
        plain = await _running(lab, tool("tofu"), tmp_path / "plain")
        before = await _lives(lab, plain)
        await _refusals(lab)
        assert not list(lab.root.glob("infrastructure/**/terraform.tfstate"))
        for stage in ("adopt", "provision"):
            await run_until(lab, _at_change(stage), "adopt")
        await _run(lab, "adopt")
        assert (lab.root / "talos/bootstrap.json").exists()
        first = _changes(await _run(lab, "up"))
        assert {stage for stage, _ in first} <= {"kubeconfig"}, first
        assert _changes(await _run(lab, "up")) == []
        assert await _lives(lab, plain) == before

        file = lab.root / "nodes.yaml"
        address = plain.cluster.nodes[0].address + 10
        file.write_text(file.read_text() + WORKER.format(address=address))
        await _run(lab, "up")
        assert set(lab.vms()) == {"e2e-cp-1", "e2e-w-1"}
        assert await _lives(lab, plain) == before


@pytest.mark.chaos
@pytest.mark.timeout(3600)
async def test_killed_after_every_event(make_lab: MakeLab, tool: Tool, tmp_path: Path) -> None:
    """Then adopted again: the same states and record each time, and the cluster never notices."""
    async with make_lab(control_planes=1, workers=0, sealed=True) as lab:
        plain = await _running(lab, tool("tofu"), tmp_path / "plain")
        before, start = await _lives(lab, plain), tmp_path / "start"
        shutil.copytree(lab.root, start, symlinks=True)
        await _run(lab, "adopt")
        wanted, number = _states(lab), 0
        seen: list[Event] = [{}]
        while len(seen) >= number:
            number += 1
            shutil.rmtree(lab.root)
            shutil.copytree(start, lab.root, symlinks=True)
            await _as_found(lab)
            seen = await run_until(lab, nth(number), "adopt")
            await _run(lab, "adopt")
            assert _states(lab) == wanted, (number, seen[-1])
            assert await _lives(lab, plain) == before, (number, seen[-1])
        print(f"{number - 1} events")  # noqa: T201  (shown with -rP)


async def _running(lab: Any, tofu: Path, place: Path) -> Plain:
    """The cluster runs, and an inventory with its secrets describes it."""
    file = lab.root / "cluster.yaml"
    file.write_text(file.read_text() + ADVANCED)
    plain = await bring_up(lab, tofu, place)
    secrets = lab.root / PLAIN
    secrets.parent.mkdir(exist_ok=True)
    secrets.write_text(plain.bundle.to_yaml())
    return plain


async def _as_found(lab: Any) -> None:
    """The marks of an earlier adoption are taken off the VM again."""
    await lab.proxmox(
        "PUT", "nodes/pve/qemu/111/config", description="made by hand", delete="tags,startup"
    )


def _states(lab: Any) -> dict[str, Any]:
    """What the states say, without what counts their versions."""
    found = {}
    for path in sorted(lab.root.glob("infrastructure/*/**/terraform.tfstate")):
        if ".terraform" not in path.parts:
            state = json.loads(path.read_text())
            found[path.parent.name] = (state["resources"], state["outputs"])
    assert found
    return {**found, "founded": (lab.root / "talos/bootstrap.json").exists()}


def _at_change(stage: str) -> Callable[[Event], bool]:
    return lambda event: event["kind"] == "change_started" and event.get("stage") == stage


async def _lives(lab: Any, plain: Plain) -> tuple[Any, ...]:
    """Boot ids, etcd members, what was ever sent to the nodes, and what was done to their VMs."""
    nodes = {node.name for node in plain.cluster.nodes}
    fabric = [node for node in lab.world.talos.host.fabric.nodes() if node.hostname in nodes]
    sent = [
        [line for line in node.journal.kernel.items() if "apply config request" in str(line)]
        for node in fabric
    ]
    assert all(sent), "what was sent is not recorded where the test reads it"
    done = [
        task["upid"]
        for task in await lab.proxmox("GET", "nodes/pve/tasks?limit=500")
        if task["id"] == "111" and task["type"] not in {"qmconfig", "vncproxy"}
    ]
    assert done, "the tasks of the VM are not listed"
    return await plain.boots(), await plain.members(), sent, sorted(done)


async def _refusals(lab: Any) -> None:
    """A VM with the name of a node only, and what only a restart can change."""
    nodes, cluster = lab.root / "nodes.yaml", lab.root / "cluster.yaml"
    text = nodes.read_text()
    nodes.write_text(
        text.replace("vm_id: 111", "vm_id: 112\n    mac_addr: BC:24:11:99:99:99")
        + "    uuid: 5f0c1f5e-3b1c-4a43-9d0b-9d6c6b3a7e11\n"
    )
    await _refused(lab, "does not have VMID 112; has MAC", "nodes.yaml says 5f0c1f5e")
    nodes.write_text(text)
    text = cluster.read_text()
    cluster.write_text(text.replace("cores: 2", "cores: 4"))
    await _refused(lab, "e2e-cp-1 cpu.0.cores: is 2, the inventory says 4 (restarts)")
    cluster.write_text(text)


async def _refused(lab: Any, *words: str) -> None:
    done = await lab.talops("adopt", "--yes")
    assert done.code == 1, done.everything
    assert all(each in done.everything for each in words), done.everything
    assert "nothing was imported" in done.everything


async def _run(lab: Any, command: str) -> list[dict[str, Any]]:
    done = await lab.talops(command, "--yes", "-o", "json")
    assert done.code == 0, done.everything
    return [json.loads(line) for line in done.out.splitlines()]


def _changes(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    started = [event for event in events if event["kind"] == "change_started"]
    return [(event["stage"], event["action"]) for event in started if event["stage"] != "configure"]
