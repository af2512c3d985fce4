"""The plan that was shown and approved; each stage is judged against it before it changes anything.

What a stage plans later may do less. If it does more, the user is asked again, with the difference;
a run that does not ask stops.

- A stage whose plan was shown: any new object or greater impact is a difference. Once this run has
  changed something, only those that restart, cut off or destroy: new nodes get their configs.
- A stage that could not be planned at the time: what restarts, cuts off or destroys was not shown,
  so the user is asked. With --yes it was approved unseen; rules of the stage still apply.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from talops.approval import Item, as_dict, beyond, digest
from talops.errors import NotApprovedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.approval import Beyond
    from talops.pipeline.planning import Plan, StagePlan
    from talops.pipeline.stage import Change

Items = tuple[Item, ...]


@dataclass(frozen=True)
class Approval:
    """Stage → its items; None: it could not be planned, or not completely."""

    stages: Mapping[str, Items | None] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """With a hash for each stage and for everything."""
        stages = {
            name: None
            if items is None
            else {"sha256": digest(items), "items": [as_dict(item) for item in items]}
            for name, items in self.stages.items()
        }
        every = [item for items in self.stages.values() for item in items or ()]
        return {"version": 1, "sha256": digest(every), "stages": stages}


@dataclass(frozen=True)
class NewPlan:
    """What a stage would do beyond the approved plan."""

    stage: str
    differences: tuple[Beyond, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.differences))


Reconfirm = Callable[[NewPlan], Awaitable[bool]]
Keep = Callable[[Approval], None]


def approve(plan: Plan) -> Approval:
    return Approval({each.stage.name: items_of(each) for each in plan.stages if not each.left_out})


def items_of(plan: StagePlan) -> Items | None:
    return None if plan.unknown else items_in(plan.changes)


def items_in(changes: Sequence[Change]) -> Items | None:
    found: list[Item] = []
    for change in changes:
        items = change.items()
        if items is None:
            return None
        found += items
    return tuple(found)


class Approvals:
    """The approved plan of a run, which grows with every further answer."""

    def __init__(
        self, approval: Approval, reconfirm: Reconfirm, keep: Keep, *, unseen: bool
    ) -> None:
        self._approval = approval
        self._reconfirm = reconfirm
        self._keep = keep
        # Approved in advance, without a question.
        self._unseen = unseen
        keep(approval)

    async def require(self, name: str, changes: Sequence[Change], *, dirty: bool) -> None:
        """Return if these changes are approved, now or before; NotApprovedError otherwise."""
        new = NewPlan(name, tuple(self._differences(name, changes, dirty=dirty)))
        if not new.differences:
            return
        if not await self._reconfirm(new):
            raise NotApprovedError(
                f"the plan changed since it was approved: {new}",
                where=name,
                hint="run the same command again to see and approve the new plan",
            )
        self._remember(name, changes)

    def _differences(self, name: str, changes: Sequence[Change], *, dirty: bool) -> list[Beyond]:
        items = [item for change in changes for item in change.items() or ()]
        approved = self._approval.stages.get(name)
        if approved is None:
            return [] if self._unseen else _disruptive(beyond(items, ()))
        found = beyond(items, approved)
        return _disruptive(found) if dirty else found

    def _remember(self, name: str, changes: Sequence[Change]) -> None:
        items = [item for change in changes for item in change.items() or ()]
        known = self._approval.stages.get(name) or ()
        new = {item.object for item in items}
        kept = (*(item for item in known if item.object not in new), *items)
        stages = {**self._approval.stages, name: kept}
        self._approval = replace(self._approval, stages=stages)
        self._keep(self._approval)


def _disruptive(found: Sequence[Beyond]) -> list[Beyond]:
    return [each for each in found if each.item.impact.disruptive]
