"""`kill -9` while a node is removed or replaced, then the same command: once, and none cordoned."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.crashes import Event, run_until
from tests.e2e.living import carried, cordoned, destroyed, does, drop, kube_nodes, members

from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from tests.e2e.conftest import Lab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]


def part(doing: str, phase: str) -> Callable[[Event], bool]:
    return lambda event: (
        event["kind"] == "part_progress" and (event["doing"], event["phase"]) == (doing, phase)
    )


def change(kind: str, stage: str) -> Callable[[Event], bool]:
    return lambda event: event["kind"] == kind and event.get("stage") == stage


def resource(phase: str) -> Callable[[Event], bool]:
    return lambda event: event["kind"] == "resource_change" and event["phase"] == phase


REMOVAL = (part("cordoning", "done"), part("removing", "start"), resource("complete"))
REPLACEMENT = (
    part("draining", "done"),
    resource("complete"),
    change("change_finished", "leave"),
    change("change_started", "provision"),
    change("change_started", "apply-config"),
    change("stage_started", "verify"),
)


@pytest.mark.sampled("nodes of a running cluster")
async def test_killed_while_a_node_leaves(make_lab: MakeLab) -> None:
    """At each of these moments in turn; the last run finishes what the first one began."""
    spec = LabSpec(timing=0.0, workloads=True)
    async with make_lab(spec=spec, control_planes=1, workers=3) as lab:
        await lab.init_secrets()
        await does(lab, "up", "--yes")
        await carried(lab, 3)
        for stop in REPLACEMENT:
            seen = await run_until(lab, stop, "replace", "e2e-w-1")
            assert stop(seen[-1]), seen[-3:]
        await does(lab, "replace", "e2e-w-1", "--yes")
        assert destroyed(lab, 121) == 1
        assert await cordoned(lab) == set()

        drop(lab, "e2e-w-3")
        words = ("up", "--allow-destroy", "e2e-w-3")
        for stop in REMOVAL:
            seen = await run_until(lab, stop, *words)
            assert stop(seen[-1]), seen[-3:]
        await does(lab, *words, "--yes")
        assert destroyed(lab, 123) == 1
        await _is_whole(lab, {"e2e-cp-1", "e2e-w-1", "e2e-w-2"})


async def _is_whole(lab: Lab, names: set[str]) -> None:
    assert set(lab.vms()) == names == await kube_nodes(lab)
    assert await members(lab) == {name for name in names if "-cp-" in name}
    assert await cordoned(lab) == set()
    assert "nothing to change" in (await does(lab, "up", "--yes")).everything


ALL = {f"e2e-cp-{number}" for number in (1, 2, 3)} | {"e2e-w-1", "e2e-w-2"}
# What tells one event of a run from another; times and reasons differ in every run.
TOLD = ("kind", "stage", "step", "action", "target", "part", "doing", "phase", "name", "path")


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", ["removal", "replacement"])
async def test_killed_after_every_event(way: str, make_lab: MakeLab) -> None:
    """Not a sample: a control plane of 3 + 2, killed after each event that no run had before.

    Each run begins where the last one was killed, and the last one finishes what the first began.
    """
    spec = LabSpec(timing=0.0, workloads=True)
    async with make_lab(spec=spec, control_planes=3, workers=2) as lab:
        await lab.init_secrets()
        await does(lab, "up", "--yes")
        await carried(lab, 2)
        if way == "removal":
            drop(lab, "e2e-cp-3")
            kills = await _killed_at_every_event(lab, "up", "--allow-destroy", "e2e-cp-3")
        else:
            kills = await _killed_at_every_event(lab, "replace", "e2e-cp-3")
        print(f"{kills} kills")  # noqa: T201  (shown with -rP)
        assert destroyed(lab, 113) == 1
        await _is_whole(lab, ALL - ({"e2e-cp-3"} if way == "removal" else set()))


async def _killed_at_every_event(lab: Lab, *words: str) -> int:
    known: set[tuple[Any, ...]] = set()

    def new(event: Event) -> bool:
        told = tuple(event.get(key) for key in TOLD)
        if told in known:
            return False
        known.add(told)
        return True

    kills = 0
    while True:
        before = len(known)
        seen = await run_until(lab, new, *words)
        assert len(known) > before, seen[-3:]
        assert destroyed(lab, 113) <= 1, seen[-3:]
        if seen[-1]["kind"] == "run_finished":
            assert seen[-1]["status"] in {"done", "unchanged"}, f"{kills} kills: {seen[-3:]}"
            return kills
        kills += 1
