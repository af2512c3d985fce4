"""The printed plan, as goldens of 80 columns, and its document."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from talops.approval import Impact, Item, shown
from talops.events import PlanFinished, PlannedChange, RunStarted, StagePlanned
from talops.views.board import Board
from talops.views.plan import WIDTH, Condition, as_data, plan_text, report_of

if TYPE_CHECKING:
    from talops.events import Event

GOLDEN = Path(__file__).parents[1] / "golden" / "plan"
STAGES = ("preflight", "configure", "provision", "apply-config", "bootstrap", "verify")


def layer(*items: Item, **more: object) -> PlannedChange:
    detail = "2 to create, 1 to restart"
    row = tuple(map(shown, items))
    return PlannedChange("provision", "apply", "02-platforms/demo", detail, items=row, **more)  # type: ignore[arg-type]  # keyword names are fixed below


def vm(name: str, impact: Impact, why: str = "", **more: object) -> Item:
    return Item(f"02 {name}", impact, name, why, node=name, **more)  # type: ignore[arg-type]  # keyword names are fixed below


RESTART = vm("demo-cp-1", Impact.RESTARTS, "memory: 8192 → 16384", drains=True, members=(3, 2, 3))
MANY = [vm(f"demo-w-{n}", Impact.RESTARTS, "cores: 4 → 8", drains=True) for n in range(1, 9)]
REFUSED: dict[str, str | None] = {
    "what": "refused to apply this plan; nothing was changed:\n  demo-w-3: destroys it",
    "where": "02-platforms/demo",
    "hint": "to allow this: --allow-destroy demo-w-3",
}
FILES = PlannedChange("configure", "write", "infrastructure/", "3 files", impact="changes")
CASES: dict[str, tuple[list[Event], list[Condition]]] = {
    "unchanged": ([StagePlanned("provision", "unchanged")], []),
    "first-run": (
        [
            FILES,
            StagePlanned("configure", "changes", 1),
            StagePlanned(
                "provision",
                "unknown",
                0,
                "configure",
                "the OpenTofu files do not exist yet; 3 VMs: demo-cp-1, demo-w-1, demo-w-2",
            ),
        ],
        [],
    ),
    "scale-and-resize": (
        [
            FILES,
            StagePlanned("configure", "changes", 1),
            layer(
                RESTART,
                vm("demo-w-3", Impact.CREATES),
                Item("02 image", Impact.REPLACES, "talos-v1.14.1.iso", "url", disposable=True),
                last_seconds=72.4,
            ),
            StagePlanned("provision", "changes", 1),
            PlannedChange(
                "apply-config", "apply", "demo-w-1", "machine.sysctls: without a reboot", "demo-w-1"
            ),
            StagePlanned("apply-config", "changes", 1),
            StagePlanned("bootstrap", "unknown", 0, "provision", "demo-w-3 does not answer"),
        ],
        [
            Condition("Maintenance window", "closed until Sun 02:00 UTC", holds=True, hint="wait"),
            Condition("Gates before, between and after nodes", "ceph, smoke"),
        ],
    ),
    "refused": (
        [
            layer(
                vm("demo-w-3", Impact.DESTROYS, "no longer in the configuration"), refused=REFUSED
            ),
            StagePlanned("provision", "changes", 1),
        ],
        [Condition("Pause", "paused by me@here since 2026-11-19: audit", True, "talops resume")],
    ),
    "many": ([layer(*MANY), StagePlanned("provision", "changes", 1)], []),
}


def board(events: list[Event]) -> Board:
    found = Board()
    for event in (RunStarted("r", "plan", "demo", STAGES), *events, PlanFinished(1, 0)):
        found = found.after(event, 0.0)
    return found


@pytest.mark.parametrize("name", CASES)
def test_printed(name: str) -> None:
    """On a small terminal no line is longer, whatever the reasons say."""
    events, conditions = CASES[name]
    text = "\n".join(plan_text(report_of(board(events), conditions))) + "\n"
    assert max(map(len, text.splitlines())) <= WIDTH
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("TALOPS_UPDATE_GOLDENS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_document() -> None:
    """Numbers for programs; a stage that could not be planned makes the plan incomplete."""
    data = as_data(report_of(board(CASES["scale-and-resize"][0])))
    assert data["differences"] == 3
    assert data["complete"] is False
    assert data["impacts"] == {"changes": 2, "restarts": 1, "creates": 1, "replaces": 1}
    assert data["disrupted"] == ["demo-cp-1"]
    assert data["last_seconds"] == 72.4
    assert [stage["stage"] for stage in data["stages"]] == list(STAGES)
