"""What was approved is what is applied: the one judge, and how a run uses it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from talops.approval import Impact, Item, beyond, digest
from talops.errors import NotApprovedError
from talops.pipeline.result import RunResult, RunStatus
from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Absent, Change, Seen, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.pipeline.approving import Approval, NewPlan
    from talops.pipeline.planning import Plan

World = dict[str, Impact]
R, C, D, ONLINE = Impact.RESTARTS, Impact.CREATES, Impact.DESTROYS, Impact.CHANGES


@dataclass(frozen=True)
class Work(Change):
    """`hidden`: what it does is unknown until earlier changes are done."""

    does: Impact = Impact.CHANGES
    hidden: bool = False

    @property
    def impact(self) -> Impact:
        return self.does

    def items(self) -> tuple[Item, ...] | None:
        return None if self.hidden else super().items()


@dataclass
class Worker(Stage[World, Work]):
    """Does what the world asks for; `blind`: it cannot see that before another stage has run."""

    name: str
    world: World
    blind: bool = False
    hidden: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)
    after: Callable[[], None] = lambda: None

    async def observe(self) -> World | Absent:
        if self.blind:
            return Absent("first", "not there yet")
        return dict(self.world)

    def plan(self, facts: World) -> list[Work]:
        return [
            Work("do", name, does=impact, hidden=name in self.hidden)
            for name, impact in facts.items()
        ]

    async def apply(self, change: Work) -> None:
        self.done.append(change.target)
        del self.world[change.target]
        self.after()

    async def verify(self, _: Seen[World, Work], /) -> None:
        """Nothing to prove."""


@dataclass
class Person:
    """Answers in turn, and while the first question is open the world may change."""

    meanwhile: Callable[[], None] = lambda: None
    answers: list[bool] = field(default_factory=lambda: [True])
    told: list[NewPlan] = field(default_factory=list)
    kept: list[Approval] = field(default_factory=list)

    async def confirm(self, _: Plan) -> bool:
        self.meanwhile()
        return True

    async def reconfirm(self, new: NewPlan) -> bool:
        self.told.append(new)
        return self.answers.pop(0)

    def options(self, *, yes: bool = False) -> Options:
        asked = Options(confirm=self.confirm, keep=self.kept.append)
        return asked if yes else replace(asked, asks=True, reconfirm=self.reconfirm)


async def go(stages: list[Worker], options: Options) -> RunResult:
    return await run_stages(stages, emit=lambda _: None, options=options)


ROWS = [
    ("the same", {}, 0),
    ("gone", {"a": None}, 0),
    ("less", {"a": ONLINE}, 0),
    ("worse", {"a": D}, 1),
    ("another object", {"b": ONLINE}, 1),
    ("something to create instead", {"a": C}, 1),
]


@pytest.mark.parametrize(("change", "questions"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
@pytest.mark.parametrize("answer", [True, False])
async def test_the_world_changes_while_a_question_is_open(
    change: dict[str, Impact | None], questions: int, answer: bool
) -> None:
    """A new object or a greater impact is shown and asked about; less is not."""
    world: World = {"a": R}

    def meanwhile() -> None:
        for name, impact in change.items():
            world.pop(name, None)
            if impact is not None:
                world[name] = impact

    person = Person(meanwhile, [answer])
    worker = Worker("first", world)
    result = await go([worker], person.options())
    assert len(person.told) == questions
    if questions and not answer:
        assert isinstance(result.error, NotApprovedError)
        assert result.exit_code == 1
        assert result.error.hint
        assert all(name in result.error.what for name in change)
        assert worker.done == [], "nothing happens before the answer"
        return
    assert result.error is None
    assert world == {}
    assert len(person.kept) == 1 + questions
    approved = {item.object for item in person.kept[-1].stages["first"] or ()}
    assert approved == {"a", *change}


@pytest.mark.parametrize(("impact", "stops"), [(ONLINE, False), (C, False), (R, True), (D, True)])
async def test_with_yes_a_run_stops_at_what_was_not_planned(impact: Impact, stops: bool) -> None:
    """What the first stage does may lead to configs of new nodes, and not to the loss of others."""
    first, second = Worker("first", {"a": C}), Worker("second", {"x": ONLINE})
    first.after = lambda: second.world.update({"y": impact})
    result = await go([first, second], Person().options(yes=True))
    assert isinstance(result.error, NotApprovedError) is stops
    assert second.done == ([] if stops else ["x", "y"])
    if stops:
        assert result.error
        assert f"y would now change ({impact}: do)" in result.error.what
        assert result.error.where == "second"


@pytest.mark.parametrize(
    ("impact", "yes", "questions"),
    [(C, False, 0), (ONLINE, False, 0), (R, False, 1), (D, False, 1), (R, True, 0)],
)
async def test_what_could_not_be_shown(impact: Impact, yes: bool, questions: int) -> None:
    """A stage without a plan at the question: its restarts are a question of their own."""
    first, second = Worker("first", {"a": C}), Worker("second", {"x": impact}, blind=True)

    def see() -> None:
        second.blind = False

    first.after = see
    person = Person()
    result = await go([first, second], person.options(yes=yes))
    assert result.status is RunStatus.DONE
    assert len(person.told) == questions
    assert person.kept[0].stages["second"] is None
    assert second.done == ["x"]


async def test_the_rest_of_a_stage_is_planned_when_it_can_be() -> None:
    """Layer after layer: the second one is shown before it changes what runs."""
    worker = Worker("first", {"a": C, "b": R}, hidden={"b"})
    worker.after = worker.hidden.clear
    person = Person(answers=[False])
    result = await go([worker], person.options())
    assert isinstance(result.error, NotApprovedError)
    assert worker.done == ["a"]
    assert [str(new) for new in person.told] == ["b would now change (restarts: do)"]


async def test_a_stage_that_never_learns_its_rest_ends() -> None:
    """It is applied as before, by the rules of the stage, and not planned again for ever."""
    worker = Worker("first", {"a": C, "b": R}, hidden={"b"})
    result = await go([worker], Person().options(yes=True))
    assert result.error is None
    assert worker.done == ["a", "b"]


async def test_no_question_no_second_look() -> None:
    """A run without changes observes each stage once."""
    worker = Worker("first", {})
    looks = 0
    observe = worker.observe

    async def counted() -> World | Absent:
        nonlocal looks
        looks += 1
        return await observe()

    worker.observe = counted  # type: ignore[method-assign]  # counts
    person = Person()
    assert (await go([worker], person.options())).status is RunStatus.UNCHANGED
    assert (looks, person.kept) == (1, [])


ITEM = Item("vm", R, parts=frozenset({"nic"}), foreign=frozenset())


@pytest.mark.parametrize(
    ("item", "limit", "within"),
    [
        (ITEM, ITEM, True),
        (replace(ITEM, impact=ONLINE), ITEM, True),
        (replace(ITEM, impact=D), ITEM, False),
        (replace(ITEM, parts=frozenset({"nic", "disk"})), ITEM, False),
        (replace(ITEM, foreign=frozenset({"scsi5"})), ITEM, False),
        (replace(ITEM, foreign=frozenset({"scsi5"})), replace(ITEM, foreign=None), True),
        (replace(ITEM, object="other"), ITEM, False),
        (replace(ITEM, impact=C), ITEM, False),
        (replace(ITEM, impact=C), replace(ITEM, impact=Impact.REPLACES), True),
        (replace(ITEM, parts=frozenset({"x"})), replace(ITEM, impact=Impact.REPLACES), True),
    ],
)
def test_the_judge(item: Item, limit: Item, within: bool) -> None:
    """Less of the same, or another plan."""
    assert (beyond([item], [limit]) == []) is within
    assert beyond([item], [limit], making={item.object}) == []


def test_hashes() -> None:
    """Order does not matter; everything that is compared does."""
    other = replace(ITEM, object="other")
    assert digest([ITEM, other]) == digest([other, ITEM])
    variants = [
        ITEM,
        replace(ITEM, impact=D),
        replace(ITEM, parts=frozenset()),
        replace(ITEM, foreign=None),
        replace(ITEM, foreign=frozenset({"a"})),
        other,
    ]
    assert len({digest([item]) for item in variants}) == len(variants)
