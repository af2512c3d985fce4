"""`kill -9` at any moment of a bring-up, then `up` again: always the same one cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.crashes import Event, in_logs, leaks, up_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
STAGES = ("configure", "images", "provision", "apply-config", "bootstrap", "kubeconfig", "verify")


def at_stage(stage: str) -> Callable[[Event], bool]:
    """The first change of a stage, or its beginning where it has none."""
    kinds = {"change_started"} if stage not in {"images", "verify"} else {"stage_started"}
    return lambda event: event["kind"] in kinds and event.get("stage") == stage


async def test_killed_in_every_stage_in_turn(make_lab: MakeLab) -> None:
    """One bring-up, killed once in each of its stages; the next run goes on from there."""
    async with make_lab(control_planes=1, workers=1) as lab:
        assert (await lab.talops("secrets", "init")).code == 0
        bundle = lab.root / "talos" / "talsecret.sops.yaml"
        known = ""
        for stage in STAGES:
            events = await up_until(lab, at_stage(stage))
            assert events, stage
            if bundle.exists():
                known = known or bundle.read_text(encoding="utf-8")
                assert bundle.read_text(encoding="utf-8") == known, "the cluster changed its keys"
        done = await lab.talops("up", "--yes")
        assert done.code == 0, done.everything
        assert set(lab.vms()) == {"e2e-cp-1", "e2e-w-1"}
        secrets = [lab.environment["PROXMOX_VE_API_TOKEN"].partition("=")[2]]
        assert leaks(lab.root, secrets) == []
        assert in_logs(lab.root, secrets) == []
        again = await lab.talops("up", "--dry-run")
        assert again.code == 0, again.everything


SHARDS = 8


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_killed_after_every_event(shard: int, make_lab: MakeLab) -> None:
    """Not a sample: each event of a bring-up in turn, until a run outlives its number of events."""
    async with make_lab(control_planes=1, workers=1) as lab:
        assert (await lab.talops("secrets", "init")).code == 0
        number = shard + 1
        while True:
            seen = await up_until(lab, nth(number))
            if len(seen) < number:
                break
            done = await lab.talops("up", "--yes")
            assert done.code == 0, f"killed after event {number}: {done.everything}"
            assert set(lab.vms()) == {"e2e-cp-1", "e2e-w-1"}, number
            assert in_logs(lab.root, [lab.environment["PROXMOX_VE_API_TOKEN"]]) == []
            gone = await lab.talops("down", "--yes", "--cluster", "e2e", "--force")
            assert gone.code == 0, f"after event {number}: {gone.everything}"
            assert lab.vms() == {}
            number += SHARDS


def nth(number: int) -> Callable[[Event], bool]:
    seen = iter(range(1, number + 1))
    return lambda _: next(seen) == number
