"""The order of a roll follows from facts about the nodes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talops.errors import TalopsError
from talops.rolls.order import Candidate, Group, Width, groups, out_of_service

if TYPE_CHECKING:
    from tests.examples import Example


def plane(name: str, **facts: bool) -> Candidate:
    return Candidate(name, controller=True, **facts)


def worker(name: str, **facts: bool) -> Candidate:
    return Candidate(name, controller=False, **facts)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([], ()),
        ([plane("c1")], (Group(("c1",)),)),
        ([worker("w1"), plane("c1")], (Group(("c1",)), Group(("w1",), 2))),
        ([plane("c1", leader=True), plane("c2")], (Group(("c2", "c1")),)),
        ([plane("c1"), plane("c2", sick=True)], (Group(("c2", "c1")),)),
        ([worker("w1"), worker("w2", sick=True)], (Group(("w2", "w1"), 2),)),
        (
            [plane("c1"), worker("w1"), worker("w2", under_way=True)],
            (Group(("w2", "c1")), Group(("w1",), 2)),
        ),
        (
            [worker("w1", under_way=True), plane("c1", under_way=True), plane("c2", sick=True)],
            (Group(("c1", "w1", "c2")),),
        ),
    ],
    ids=[
        "none",
        "one",
        "control planes first",
        "the leader of etcd last",
        "the sick control plane first",
        "the sick worker first",
        "what was begun before all",
        "what was begun, control planes first",
    ],
)
def test_the_order(candidates: list[Candidate], expected: tuple[Group, ...]) -> None:
    """What was begun, then control planes one by one, then workers; the sick ones first."""
    assert groups(candidates, 4, Width(50, percent=True)) == expected


def test_a_canary_goes_alone() -> None:
    """The first of many workers shows what the change does before the others follow."""
    many = [worker(f"w{number}") for number in range(5)]
    assert groups(many, 5, Width(3), canary=True) == (
        Group(("w0",)),
        Group(("w1", "w2", "w3", "w4"), 3),
    )
    assert groups(many[:3], 5, Width(3), canary=True) == (Group(("w0", "w1", "w2"), 3),)
    assert groups([plane("c"), *many], 5, Width(3), canary=True)[0] == Group(("c",))


@pytest.mark.parametrize(
    ("text", "workers", "width"),
    [("1", 5, 1), ("3", 5, 3), ("25%", 20, 5), ("25%", 3, 1), ("10%", 0, 1), ("100%", 7, 7)],
)
def test_the_width(text: str, workers: int, width: int) -> None:
    """A share is rounded down, and at least one worker can always be away."""
    assert Width.parse(text).of(workers) == width
    assert str(Width.parse(text)) == text


@pytest.mark.parametrize("text", ["", "0", "0%", "101%", "-1", "half", "1.5"])
def test_what_is_no_width(text: str) -> None:
    """Refused before anything is planned."""
    with pytest.raises(TalopsError, match="is not a number of workers"):
        Width.parse(text)


CANDIDATES = st.lists(
    st.builds(
        Candidate,
        st.text("abcdefgh", min_size=1, max_size=3),
        st.booleans(),
        sick=st.booleans(),
        under_way=st.booleans(),
        leader=st.booleans(),
    ),
    max_size=12,
    unique_by=lambda candidate: candidate.name,
)


@given(CANDIDATES, st.integers(1, 20), st.booleans(), st.booleans())
def test_no_two_control_planes_are_away_together(
    candidates: list[Candidate], number: int, share: bool, canary: bool
) -> None:
    """Every node once, also if some are sick or in progress; a group with a plane has width 1."""
    workers = sum(not candidate.controller for candidate in candidates)
    width = Width(number, percent=share)
    found = groups(candidates, workers, width, canary=canary)
    names = [name for group in found for name in group.names]
    assert sorted(names) == sorted(candidate.name for candidate in candidates)
    planes = {candidate.name for candidate in candidates if candidate.controller}
    assert all(group.width == 1 for group in found if planes & {*group.names})
    assert all(1 <= group.width <= max(1, width.of(workers)) for group in found)
    begun = {candidate.name for candidate in candidates if candidate.under_way}
    assert {*names[: len(begun)]} == begun


def test_what_a_restart_means(example: Example) -> None:
    """Alone a node is not drained; each control plane is missing from etcd for a while."""
    ha, single = example("ha"), example("single")
    planes, worker = ha.control_planes, ha.workers[0]
    size = len(planes)
    assert out_of_service(ha, planes[0].name) == (True, (size, size - 1, size))
    assert out_of_service(ha, worker.name) == (True, ())
    assert out_of_service(single, single.nodes[0].name) == (False, (1, 0, 1))
