"""What a plan makes of prior state and configuration, without OpenTofu around it."""

from __future__ import annotations

from typing import Any

import pytest

from talops.lab.provider import schema
from talops.lab.provider.planning import plan_legacy, plan_modern
from talops.lab.provider.schema import Attribute, Block, NestedBlock
from talops.lab.provider.values import UNKNOWN

LEGACY = Block(
    {
        "name": Attribute(required=True, force_new=True),
        "note": Attribute(default=""),
        "size": Attribute("number", default=8, computed=True),
        "id": Attribute(computed=True),
        "tags": Attribute(
            ["list", "string"], suppress=lambda a, b: sorted(a or []) == sorted(b or [])
        ),
    },
    {
        "port": NestedBlock(
            Block({"mac": Attribute(computed=True), "up": Attribute("bool", default=True)})
        ),
        "screen": NestedBlock(Block({"kind": Attribute(default="std")}), computed=True),
    },
)
PRIOR: dict[str, Any] = {
    "name": "a",
    "note": "",
    "size": 20,
    "id": "1",
    "tags": ["x", "y"],
    "port": [{"mac": "AA", "up": True}],
    "screen": [{"kind": "qxl"}],
}
SAME: dict[str, Any] = {"name": "a", "tags": ["x", "y"], "port": [{}]}

ROWS: dict[str, tuple[dict[str, Any], dict[str, Any], list[Any]]] = {
    "nothing": ({}, {}, []),
    "order of a set-like list": ({"tags": ["y", "x"]}, {}, []),
    "a tag more": ({"tags": ["x", "y", "z"]}, {"tags": ["x", "y", "z"]}, []),
    "tags taken out": ({"tags": None}, {"tags": None}, []),
    "a default left alone": ({"note": None}, {}, []),
    "a value": ({"note": "hi"}, {"note": "hi"}, []),
    "the name": ({"name": "b"}, {"name": "b"}, [("name",)]),
    "an unknown name": ({"name": UNKNOWN}, {"name": UNKNOWN}, [("name",)]),
    "size given": ({"size": 30}, {"size": 30}, []),
    "a second port": (
        {"port": [{}, {}]},
        {"port": [{"mac": "AA", "up": True}, {"mac": None, "up": True}]},
        [],
    ),
    "no port": ({"port": []}, {"port": []}, []),
    "a port that is down": (
        {"port": [{"up": False}]},
        {"port": [{"mac": "AA", "up": False}]},
        [],
    ),
    "a screen": ({"screen": [{}]}, {"screen": [{"kind": "std"}]}, []),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_older_half_plans_attribute_by_attribute(row: str) -> None:
    """What is neither configured nor defaulted stays as it was."""
    config, changes, replace = ROWS[row]
    plan = plan_legacy(LEGACY, PRIOR, {**SAME, **config})
    assert plan.planned == {**PRIOR, **changes}
    assert plan.replace == replace


def test_an_element_may_be_unknown_as_a_whole() -> None:
    """A list whose elements come from something that is not there yet."""
    block = Block({"nic": Attribute(elements=Block({"mac": Attribute(computed=True)}))})
    config = schema.conform(block, {"nic": [UNKNOWN, {"mac": "AA"}]})
    assert plan_legacy(block, None, config).planned == {"nic": [UNKNOWN, {"mac": "AA"}]}


def test_creation_in_the_older_half() -> None:
    """Defaults are filled in, the rest of what is computed is unknown."""
    plan = plan_legacy(LEGACY, None, {"name": "a", "port": [{}]})
    assert plan.planned["size"] == 8
    assert plan.planned["id"] is UNKNOWN
    assert plan.planned["screen"] is UNKNOWN
    assert plan.planned["port"] == [{"mac": UNKNOWN, "up": True}]
    assert plan.replace == []


MODERN = Block(
    {
        "name": Attribute(required=True, force_new=True),
        "flag": Attribute("bool", computed=True, default=True),
        "id": Attribute(readonly=True, keep=True),
        "stamp": Attribute(readonly=True),
        "nodes": Attribute(["set", "string"], computed=True),
    }
)
KNOWN: dict[str, Any] = {"name": "a", "flag": True, "id": "1", "stamp": "t", "nodes": ["n"]}


def test_the_newer_half_leaves_an_unchanged_state_alone() -> None:
    """Even what it could compute anew."""
    assert plan_modern(MODERN, KNOWN, {"name": "a"}).planned == KNOWN


def test_any_change_makes_computed_values_unknown() -> None:
    """Apart from those that never change."""
    plan = plan_modern(MODERN, KNOWN, {"name": "a", "flag": False})
    assert plan.planned == {**KNOWN, "flag": False, "stamp": UNKNOWN, "nodes": UNKNOWN}
    assert plan.replace == []


def test_the_newer_half_tells_replacements() -> None:
    """A change of what names a thing."""
    assert plan_modern(MODERN, KNOWN, {"name": "b"}).replace == [("name",)]


def test_sets_have_no_order() -> None:
    """The same elements are the same set."""
    prior = {**KNOWN, "nodes": ["a", "b"]}
    assert plan_modern(MODERN, prior, {"name": "a", "nodes": ["b", "a"]}).planned == prior
