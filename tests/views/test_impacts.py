"""What a plan says about each object: names, impacts, and what stops."""

from __future__ import annotations

from typing import Any

import pytest

from talops.approval import Impact, Item, shown
from talops.events import PlannedChange
from talops.views.impacts import DOES, TO_DO, amount, disruptions, impact_of, item_lines


def change(*items: Item, target: str = "02-platforms/demo") -> PlannedChange:
    return PlannedChange("provision", "apply", target, items=tuple(map(shown, items)))


RESTART = Item(
    "02 cp-1",
    Impact.RESTARTS,
    "demo-cp-1",
    "memory: 8192 → 16384",
    node="demo-cp-1",
    drains=True,
    members=(3, 2, 3),
)
CREATE = Item("02 w-3", Impact.CREATES, "demo-w-3", node="demo-w-3")
IMAGE = Item("02 image", Impact.REPLACES, "image", "url", disposable=True)


def test_every_impact_has_words() -> None:
    """None is shown by its name in the code, and none is read back as another one."""
    assert set(TO_DO) == set(DOES) == set(Impact)
    assert [impact_of(str(impact)) for impact in Impact] == list(Impact)


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ((RESTART, CREATE, CREATE), "3 changes: 1 to restart, 2 to create"),
        ((Item("x", Impact.CHANGES), Item("y", Impact.NONE)), "2 changes"),
        ((), "1 change"),
    ],
)
def test_amounts(items: tuple[Item, ...], text: str) -> None:
    """Objects are counted, not layers; what is changed in place needs no more words."""
    assert amount([change(*items)]) == text


def test_lines() -> None:
    """One per object, with the reason and what it means for pods and etcd."""
    assert list(item_lines(change(RESTART, CREATE))) == [
        "! restart demo-cp-1  (memory: 8192 → 16384; drained first; etcd members 3 → 2 → 3)",
        "+ create demo-w-3",
    ]
    assert list(item_lines(change(Item("x", Impact.CHANGES, "x"), target="x"))) == []


def test_what_stops() -> None:
    """By name and worst first; an image that can be downloaded again is not lost."""
    items: list[dict[str, Any]] = [shown(i) for i in (RESTART, CREATE, IMAGE)]
    assert disruptions(items) == "restarts demo-cp-1"
    many = [shown(Item(f"w-{n}", Impact.RESTARTS)) for n in range(8)]
    gone = shown(Item("w-9", Impact.DESTROYS))
    assert disruptions([*many, gone]) == (
        "destroys w-9; restarts w-0, w-1, w-2, w-3, w-4, w-5 and 2 more"
    )
