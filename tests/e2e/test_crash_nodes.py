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


SHARDS = 4
ALL = {f"e2e-cp-{number}" for number in (1, 2, 3)} | {"e2e-w-1", "e2e-w-2"}


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("way", ["replacement", "removal"])
async def test_killed_after_every_event(way: str, shard: int, make_lab: MakeLab) -> None:
    """Not a sample: each event in turn of what happens to a control plane of 3 + 2."""
    spec = LabSpec(timing=0.0, workloads=True)
    async with make_lab(spec=spec, control_planes=3, workers=2) as lab:
        await lab.init_secrets()
        await does(lab, "up", "--yes")
        await carried(lab, 2)
        number = shard + 1
        act = _removed if way == "removal" else _replaced
        while await act(lab, number):
            number += SHARDS
        print(f"the last event had a number below {number}")  # noqa: T201  (shown with -rP)


async def _replaced(lab: Lab, number: int) -> bool:
    before = destroyed(lab, 113)
    seen = await run_until(lab, nth(number), "replace", "e2e-cp-3")
    if len(seen) >= number:
        await does(lab, "replace", "e2e-cp-3", "--yes")
    assert destroyed(lab, 113) == before + 1, (number, seen[-1])
    await _is_whole(lab, ALL)
    return len(seen) >= number


async def _removed(lab: Lab, number: int) -> bool:
    before, file = destroyed(lab, 113), lab.root / "nodes.yaml"
    text = file.read_text(encoding="utf-8")
    drop(lab, "e2e-cp-3")
    words = ("up", "--allow-destroy", "e2e-cp-3")
    seen = await run_until(lab, nth(number), *words)
    if len(seen) >= number:
        await does(lab, *words, "--yes")
    assert destroyed(lab, 113) == before + 1, (number, seen[-1])
    await _is_whole(lab, ALL - {"e2e-cp-3"})
    file.write_text(text, encoding="utf-8")
    await does(lab, "up", "--yes")
    return len(seen) >= number


def nth(number: int) -> Callable[[Event], bool]:
    seen = iter(range(1, number + 1))
    return lambda _: next(seen) == number
