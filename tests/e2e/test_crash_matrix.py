"""`kill -9` at any moment of a bring-up, then `up` again: always the same one cluster."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.crashes import Event, up_until
from tests.e2e.holdings import holdings
from tests.e2e.repository import push
from tests.e2e.scanning import MARK, Watcher, known_secrets, leaks

from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load
from talops.kube.objects import Ref

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
Tool = Callable[[str], Path]
VMS = {"e2e-cp-1", "e2e-w-1"}
# Where each stage is met: at its first change, or where it begins if it has none.
STAGES = {
    "preflight": "step_started",
    "configure": "change_started",
    "images": "stage_started",
    "storage": "change_started",
    "provision": "change_started",
    "upgrade": "stage_started",
    "apply-config": "change_started",
    "bootstrap": "change_started",
    "workers": "stage_started",
    "kubeconfig": "change_started",
    "addons": "change_started",
    "gitops": "change_started",
    "verify": "stage_started",
}


def at_stage(stage: str) -> Callable[[Event], bool]:
    return lambda event: event["kind"] == STAGES[stage] and event.get("stage") == stage


@contextlib.asynccontextmanager
async def ready_site(make_lab: MakeLab) -> AsyncIterator[Any]:
    """Everything that a bring-up can have to do, and nothing done yet."""
    wanted = {"sealed": True, "gitops": True, "truenas": True, "as_users": True}
    async with make_lab(control_planes=1, workers=1, **wanted) as lab:
        inventory = lab.root / "cluster.yaml"
        inventory.write_text(inventory.read_text() + "addons: {metrics_server: true}\n")
        assert (await lab.talops("gitops", "init")).code == 0
        await asyncio.to_thread(push, lab)
        lab.environment[MARK] = uuid.uuid4().hex
        yield lab


@pytest.mark.sampled("whole lives")
async def test_killed_in_every_stage_in_turn(make_lab: MakeLab, tool: Tool) -> None:
    """One bring-up, killed once in each of its stages; the next run goes on, and nothing leaks."""
    async with ready_site(make_lab) as lab:
        with Watcher(lab.environment[MARK]) as watcher:
            await _kill_in_each(lab, tool("sops"))
            done = await lab.talops("up", "--yes")
            assert done.code == 0, done.everything
        assert holdings(lab).problems(VMS) == []
        secrets = await known_secrets(lab, tool("sops"))
        assert len(secrets) > 10
        assert leaks(lab, secrets) == []
        assert watcher.leaks(secrets) == []
        assert {"tofu", "sops"} <= {process.name for process in watcher.seen.values()}
        await _follows_its_repository(lab)
        await _again(lab)
        await _down(lab)


async def _kill_in_each(lab: Any, sops: Path) -> None:
    bundle, known = lab.root / "talos" / "talsecret.sops.yaml", b""
    names = list(STAGES)
    later = names[names.index("apply-config") + 1 :]
    for stage in names:
        # The VMs are there by then; planning them once more each time would prove nothing new.
        words = ("--from", "apply-config") if stage in later else ()
        events = await up_until(lab, at_stage(stage), *words)
        assert at_stage(stage)(events[-1]), f"{stage} was never met: {events[-3:]}"
        assert leaks(lab, await known_secrets(lab, sops)) == [], stage
        if bundle.exists():
            known = known or bundle.read_bytes()
            assert bundle.read_bytes() == known, "the cluster changed its keys"


async def _follows_its_repository(lab: Any) -> None:
    config = load(lab.root / "kubeconfig", "e2e")
    assert config
    async with KubeClient(config) as kube:
        assert await kube.get(Ref("v1", "Secret", "talops-canary", "flux-system"))
        assert await kube.get(Ref("v1", "Secret", "truenas-api", "democratic-csi"))
        assert await kube.get(Ref("apps/v1", "Deployment", "metrics-server", "kube-system"))
    datasets = lab.world.truenas.middleware.zfs.datasets.keys()
    assert datasets == ["tank", "tank/e2e", "tank/e2e/snapshots", "tank/e2e/volumes"]


async def _again(lab: Any) -> None:
    """A second `up` finds nothing to do, and needs no Image Factory for it."""
    await lab.world.factory.stop()
    second = await lab.talops("up", "--yes", "-o", "json")
    await lab.world.factory.start()
    assert second.code == 0, second.everything
    events = [json.loads(line) for line in second.out.splitlines()]
    assert not [e for e in events if e["kind"] == "change_started"]
    steps = [e["step"] for e in events if e["kind"] == "layer_started"]
    assert set(steps) == {"plan"}, "one plan of each layer is all that tofu is asked for"
    assert len(steps) == len({e["layer"] for e in events if e["kind"] == "layer_started"})
    assert [e for e in events if e["kind"] == "note" and "already on their storage" in e["message"]]


async def _down(lab: Any) -> None:
    """Only the named cluster goes, wholly, and what stays is listed."""
    wrong = await lab.talops("down", "--yes", "--cluster", "other")
    assert wrong.code == 1
    assert set(lab.vms()) == VMS
    gone = await lab.talops("down", "--yes", "--cluster", "e2e", "--all-layers")
    assert gone.code == 0, gone.everything
    assert lab.vms() == {}
    assert "nothing remains except the inventory" in gone.everything


SHARDS = 8


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_killed_after_every_event(
    shard: int, make_lab: MakeLab, tool: Tool, tmp_path: Path
) -> None:
    """Not a sample: each event of a bring-up in turn, until a run outlives its number of events."""
    async with ready_site(make_lab) as lab:
        start = tmp_path / "start"
        shutil.copytree(lab.root, start, symlinks=True)
        number = shard + 1
        with Watcher(lab.environment[MARK]) as watcher:
            while await _killed_at(lab, number, tool("sops")):
                secrets = await known_secrets(lab, tool("sops"))
                assert len(secrets) > 10, number
                assert leaks(lab, secrets) == [], number
                assert watcher.leaks(secrets) == [], number
                lab.said.clear()
                shutil.rmtree(lab.root)
                shutil.copytree(start, lab.root, symlinks=True)
                await lab.world.reset()
                await asyncio.to_thread(push, lab)
                number += SHARDS
        print(f"the last event had a number below {number}")  # noqa: T201  (shown with -rP)


async def _killed_at(lab: Any, number: int, sops: Path) -> bool:
    """Whether there was such an event."""
    bundle = lab.root / "talos" / "talsecret.sops.yaml"
    seen = await up_until(lab, nth(number))
    if len(seen) < number:
        return False
    known = bundle.read_bytes() if bundle.exists() else None
    last = {name: seen[-1].get(name) for name in ("kind", "stage", "what")}
    assert leaks(lab, await known_secrets(lab, sops)) == [], (number, last)
    done = await lab.talops("up", "--yes")
    assert done.code == 0, f"killed after event {number}, {last}: {done.everything}"
    assert holdings(lab).problems(VMS) == [], (number, last)
    assert known in {None, bundle.read_bytes()}, (number, last)
    await _follows_its_repository(lab)
    return True


def nth(number: int) -> Callable[[Event], bool]:
    seen = iter(range(1, number + 1))
    return lambda _: next(seen) == number
