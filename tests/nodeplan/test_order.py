"""Random pairs of inventories: no order passes through an unsafe state, and every refusal says the
way that is safe.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import Any

import pytest
from tests.nodeplan.simulated import Simulation, UnsafeError

from talops.nodeplan.machine import Cost, Machine
from talops.nodeplan.order import plan_nodes
from talops.nodeplan.steps import Action, NodePlan, Reason, Step, World

PAIRS = 500
MOST_RUNS = 40
SEED = int(os.environ.get("SEED", "0"))


def machine(name: str, number: int, *, controller: bool) -> Machine:
    return Machine(
        name, controller, f"10.0.0.{number}", f"BC:24:11:00:00:{number:02X}", 100 + number,
        "pve1", 2, 4096, 40,
    )  # fmt: skip


def cluster(planes: int, workers: int) -> list[Machine]:
    found = [machine(f"cp-{n}", n, controller=True) for n in range(1, planes + 1)]
    return found + [machine(f"w-{n}", 50 + n, controller=False) for n in range(1, workers + 1)]


def healthy(nodes: list[Machine], sick: tuple[str, ...] = ()) -> World:
    return World(frozenset(m.name for m in nodes if m.controller), frozenset(sick))


def pair(rng: random.Random) -> tuple[list[Machine], list[Machine], World]:
    """An inventory, another one made of it by some edits, and what etcd says."""
    before = cluster(rng.randint(1, 9), rng.randint(0, 4))
    after = list(before)
    for number in range(rng.randint(1, 5)):
        rng.choice(EDITS)(after, rng, 200 + number)
    if not any(m.controller for m in after):
        after.append(machine("cp-last", 199, controller=True))
    planes = [m.name for m in before if m.controller]
    world = healthy(
        before, tuple(rng.sample(planes, rng.choice([0, 0, 0, 1, min(2, len(planes))])))
    )
    if rng.random() < 0.1:  # a control plane that lost its machine
        lost = rng.choice(planes)
        before = [m for m in before if m.name != lost]
        world = World(world.members, world.sick | {lost})
    return before, after, world


def add(nodes: list[Machine], rng: random.Random, number: int) -> None:
    controller = rng.random() < 0.6
    nodes.append(machine(f"new-{number}", number, controller=controller))


def remove(nodes: list[Machine], rng: random.Random, _: int) -> None:
    if nodes:
        nodes.pop(rng.randrange(len(nodes)))


def change(nodes: list[Machine], rng: random.Random, number: int) -> None:
    if not nodes:
        return
    place = rng.randrange(len(nodes))
    value: Any = rng.choice(
        [
            {"cores": 4}, {"memory": 8192}, {"disk": 80}, {"disk": 20}, {"gpus": ("gpu",)},
            {"host": "pve2"}, {"address": f"10.0.1.{number}"}, {"vm_id": 1000 + number},
            {"mac": f"BC:24:11:00:01:{number:02X}"}, {"controller": not nodes[place].controller},
            {"name": f"renamed-{number}"},
        ]
    )  # fmt: skip
    nodes[place] = replace(nodes[place], **value)


def swap(nodes: list[Machine], rng: random.Random, _: int) -> None:
    if len(nodes) < 2:
        return
    one, other = rng.sample(range(len(nodes)), 2)
    key = rng.choice(["address", "mac", "vm_id"])
    mine, theirs = getattr(nodes[one], key), getattr(nodes[other], key)
    nodes[one] = replace(nodes[one], **{key: theirs})
    nodes[other] = replace(nodes[other], **{key: mine})


EDITS = (add, remove, change, change, swap)


@pytest.mark.parametrize("number", range(10))
def test_no_order_passes_through_an_unsafe_state(number: int) -> None:
    """A majority at any time, never two control planes down, and in the end what was wanted."""
    rng = random.Random(f"{SEED}:{number}")
    accepted = refused = 0
    for _ in range(PAIRS // 10):
        before, after, world = pair(rng)
        plan = plan_nodes(before, after, world)
        assert not (plan.steps and plan.refusals)
        if plan.refusals:
            refused += 1
            for refusal in plan.refusals:
                assert refusal.what
                assert refusal.safe
            follow_the_hints(before, after, world, plan)
        else:
            accepted += 1
            Simulation.of(before, world).run(plan, after)
    assert accepted
    assert refused


def follow_the_hints(
    before: list[Machine], after: list[Machine], world: World, plan: NodePlan, depth: int = 0
) -> None:
    """A user who follows the refusals reaches the goal, one safe run after the other."""
    for spare in range(MOST_RUNS):
        reasons = {refusal.reason for refusal in plan.refusals}
        if not reasons:
            Simulation.of(before, world).run(plan, after)
            return
        if Reason.LOST in reasons:
            return  # no order of changes brings a majority back: that is what recover is for
        if Reason.SICK in reasons:
            world = World(world.members)
            before += [machine(n, 150 + spare, controller=True) for n in missing(before, world)]
        else:
            step = first_run(before, after, plan, spare + 10 * depth)
            between = plan_nodes(before, step, world)
            assert depth < 3, (plan.refusals, between.refusals)
            follow_the_hints(list(before), step, world, between, depth + 1)
            before, world = step, healthy(step)
        plan = plan_nodes(before, after, world)
    raise AssertionError(f"the hints lead nowhere: {plan.refusals}")


def missing(before: list[Machine], world: World) -> list[str]:
    return sorted(world.members - {m.name for m in before})


def first_run(
    before: list[Machine], after: list[Machine], plan: NodePlan, spare: int
) -> list[Machine]:
    """What the operator writes for the first run: what all refusals let through."""
    old, new = {m.name: m for m in before}, {m.name: m for m in after}
    allowed = set(plan.refusals[0].first)
    step = {n: m for n, m in old.items() if n not in allowed}
    step |= {n: m for n, m in new.items() if n in allowed or (n in old and m == old[n])}
    for refusal in plan.refusals:
        if refusal.park:
            at = 180 + spare
            parked = machine("parked", at, controller=True)
            was = old[refusal.park]
            step[refusal.park] = replace(
                was, address=parked.address, mac=parked.mac, vm_id=parked.vm_id
            )
        elif refusal.reason in {Reason.ONLY, Reason.PAIR} and not grows(old, step):
            for number in (300 + 2 * spare, 301 + 2 * spare):
                step[f"help-{number}"] = machine(f"help-{number}", number, controller=True)
    return list(step.values())


def grows(old: dict[str, Machine], step: dict[str, Machine]) -> bool:
    return sum(m.controller for m in step.values()) > max(
        2, sum(m.controller for m in old.values())
    )


THREE = cluster(3, 2)


@pytest.mark.parametrize(
    ("after", "reason", "safe"),
    [
        (THREE[:1] + THREE[3:], Reason.REMOVALS, "remove one, run talops up, then the next"),
        (
            [*THREE[:3], replace(THREE[3], address=THREE[4].address),
             replace(THREE[4], address=THREE[3].address)],
            Reason.TAKEN,
            "in two steps: give w-1 a free address",
        ),
        (
            [*THREE[:3], replace(THREE[3], address=THREE[4].address),
             replace(THREE[4], address="10.0.0.99")],
            Reason.TAKEN,
            "change w-2 first",
        ),
    ],
    ids=["two of three", "swapped", "a chain"],
)  # fmt: skip
def test_what_is_refused(after: list[Machine], reason: Reason, safe: str) -> None:
    """What an expert would not do in one run."""
    (refusal,) = plan_nodes(THREE, after, healthy(THREE)).refusals
    assert refusal.reason is reason
    assert safe in refusal.safe


@pytest.mark.parametrize(
    ("planes", "after", "reason"),
    [
        (1, lambda nodes: [replace(nodes[0], disk=10)], Reason.ONLY),
        (1, lambda nodes: [replace(nodes[0], name="other")], Reason.ONLY),
        (2, lambda nodes: [replace(nodes[0], cores=8), nodes[1]], Reason.PAIR),
    ],
    ids=["the only disk", "the only name", "one of two"],
)
def test_small_clusters(planes: int, after: object, reason: Reason) -> None:
    """Fewer than three members have nothing to spare."""
    nodes = cluster(planes, 0)
    assert callable(after)
    (refusal,) = plan_nodes(nodes, after(nodes), healthy(nodes)).refusals
    assert refusal.reason is reason


def test_a_single_node_restarts() -> None:
    """Its API is away for a moment, its data is not; and its pods have no other place."""
    nodes = cluster(1, 0)
    plan = plan_nodes(nodes, [replace(nodes[0], cores=8)], healthy(nodes))
    (step,) = plan.steps
    assert (step.action, step.members, step.drains) == (Action.RESTART, (1, 0, 1), False)


def test_the_sick_one_comes_first() -> None:
    """A member that is down is not missed while it changes."""
    after = [replace(m, cores=8) for m in THREE]
    plan = plan_nodes(THREE, after, healthy(THREE, ("cp-3",)))
    assert names(plan.steps) == [("cp-3",), ("cp-1",), ("cp-2",), ("w-1", "w-2")]


def test_no_restart_while_another_member_is_down() -> None:
    """Two of three would be away."""
    after = [replace(THREE[0], cores=8), *THREE[1:]]
    (refusal,) = plan_nodes(THREE, after, healthy(THREE, ("cp-2",))).refusals
    assert refusal.reason is Reason.SICK
    assert "not healthy: cp-2; changing cp-1" in refusal.what


def test_new_workers_before_old_ones_go() -> None:
    """Pods that are drained need a place to go to."""
    after = [*THREE[:3], THREE[3], machine("w-3", 53, controller=False)]
    plan = plan_nodes(THREE, after, healthy(THREE))
    assert [step.action for step in plan.steps] == [Action.ADD, Action.REMOVE]


def test_a_member_without_a_machine_is_removed() -> None:
    """Its VM was destroyed before talops removed members."""
    world = World(frozenset({"cp-1", "cp-2", "cp-3", "cp-4"}), frozenset({"cp-4"}))
    (step,) = plan_nodes(THREE, THREE, world).steps
    assert (step.action, step.names, step.members) == (Action.REMOVE, ("cp-4",), (4, 3))


def test_opentofu_may_know_more() -> None:
    """A VM that it has to replace costs as much as a change that the inventory shows."""
    plan = plan_nodes(THREE, THREE, healthy(THREE), {"w-1": Cost.REPLACE})
    assert [(step.action, step.names) for step in plan.steps] == [(Action.REPLACE, ("w-1",))]


def test_a_first_run_has_no_order() -> None:
    """Nothing is bootstrapped: all control planes at once."""
    plan = plan_nodes([], THREE, World())
    assert names(plan.steps) == [("cp-1", "cp-2", "cp-3"), ("w-1", "w-2")]


@pytest.mark.parametrize(
    "steps",
    [
        [Step(Action.RESTART, ("cp-1",), controller=True)],
        [Step(Action.REMOVE, ("cp-1",), controller=True)],
    ],
)
def test_the_simulation_notices(steps: list[Step]) -> None:
    """With a member down already, each of these loses the majority of three, or of two."""
    world = healthy(THREE, ("cp-2",))
    with pytest.raises(UnsafeError):
        Simulation.of(THREE, world).run(NodePlan(tuple(steps)), THREE)


def names(steps: tuple[Step, ...]) -> list[tuple[str, ...]]:
    return [step.names for step in steps]
