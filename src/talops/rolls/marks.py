"""The mark of a roll on a Node: what was done to it, so that another run can continue.

It is written in the same request as the cordon and removed in the same request as the uncordon: a
Node that talops cordoned always says so, and says whether it was cordoned before.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talops.kube.objects import Object

ANNOTATION = "talops/roll"
UNKNOWN = "a roll of another version of talops"


@dataclass(frozen=True)
class Mark:
    """`boot` is the boot id when the roll came to this node: another one means that it restarted.

    `installed` is the installer image that was written in that boot. `cordoned` says that the roll
    cordoned the node, `was_cordoned` that someone else had done so before. `reboot`: what was
    changed takes effect in another boot only.
    """

    reason: str
    boot: str = ""
    installed: str = ""
    cordoned: bool = False
    was_cordoned: bool = False
    drained: bool = False
    # The stage whose roll it is: it also finishes what an interrupted one has left.
    stage: str = ""
    reboot: bool = False

    def to_text(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if value})


def mark_of(node: Object) -> Mark | None:
    """None if no roll has come to this Node, or if it is finished."""
    text = (node["metadata"].get("annotations") or {}).get(ANNOTATION)
    if text is None:
        return None
    try:
        content = json.loads(text)
        known = {field.name for field in fields(Mark)}
        return Mark(**{"reason": UNKNOWN, **{k: v for k, v in content.items() if k in known}})
    except (ValueError, TypeError, AttributeError):
        return Mark(UNKNOWN, cordoned=is_cordoned(node))


def is_cordoned(node: Object) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def begin(mark: Mark) -> dict[str, Any]:
    """The patch that cordons a Node and says that this roll did it."""
    return _patch(mark.to_text(), cordoned=True)


def keep(mark: Mark) -> dict[str, Any]:
    """The patch that records progress."""
    return {"metadata": {"annotations": {ANNOTATION: mark.to_text()}}}


def end(mark: Mark) -> dict[str, Any]:
    """The patch that removes the mark, and the cordon unless it was there before the roll."""
    if mark.was_cordoned or not mark.cordoned:
        return {"metadata": {"annotations": {ANNOTATION: None}}}
    return _patch(None, cordoned=False)


def _patch(text: str | None, *, cordoned: bool) -> dict[str, Any]:
    return {
        "metadata": {"annotations": {ANNOTATION: text}},
        "spec": {"unschedulable": cordoned or None},
    }
