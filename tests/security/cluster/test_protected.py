"""Nodes with `protected: true`: no path destroys, replaces or resets them."""

from __future__ import annotations

import pytest
from tests.tofu.test_judge import judged, vm

from talops.tofu.policy import Policy, refusals


@pytest.mark.parametrize("actions", [["delete"], ["delete", "create"], ["forget"]], ids="-".join)
@pytest.mark.parametrize("everything", [False, True], ids=["named", "down"])
def test_a_protected_node(actions: list[str], everything: bool) -> None:
    """No option opens it, not even a destruction of everything."""
    case = {"changes": [{"vm": "w-1", "actions": actions}], "attached": "same"}
    name = frozenset({"w-1"})
    policy = Policy(name, name, name, protected=name, everything=everything)
    (refusal,) = refusals(judged(case), policy)
    assert refusal.hint == "to allow this: remove `protected: true` of w-1 from nodes.yaml"


def test_a_protected_node_restarts() -> None:
    """Protection is about what cannot be undone."""
    change = {"vm": "w-1", "actions": ["update"], "after": {"cpu": [{"cores": 8, "type": "host"}]}}
    found = judged({"changes": [change], "attached": "same"})
    assert refusals(found, Policy(protected=frozenset({"w-1"}))) == []
    assert vm("w-1")["cpu"] != change["after"]
