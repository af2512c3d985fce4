"""What a plan with import blocks would change of the objects that it takes in. Pure.

An import cannot read what no host stores: how the provider itself behaves when it changes or
destroys an object. Those attributes are taken from the plan. Every other difference is real.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.adoption.completing import FILE, OWN, OWN_OF_FILES
from talops.tofu.differences import differences
from talops.tofu.judge import judge
from talops.tofu.plan import DOWNLOADS, VM
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from talops.tofu.differences import Difference
    from talops.tofu.judge import Judged
    from talops.tofu.plan import Change, Plan

# How long the provider waits for a guest agent, and for what.
_AGENT = frozenset({"timeout", "trim", "type", "wait_for_ip"})


@dataclass(frozen=True)
class Findings:
    """`refused`: object, attribute and values of each change that adoption must not make.
    `later`: harmless changes that it makes online, by object.
    """

    refused: tuple[str, ...]
    later: tuple[str, ...]


def unreadable(change: Change, found: Difference) -> bool:
    """Whether no host stores this attribute."""
    top = found.path[0]
    if change.type == FILE:
        return top == "url" or top in OWN_OF_FILES
    if change.type != VM:
        return top.startswith("timeout")
    if top == "agent":
        return _is_unset_agent(change) or bool({*found.path} & _AGENT)
    return top in OWN or top.startswith("timeout") or top == "reboot_after_update"


def _is_unset_agent(change: Change) -> bool:
    """A block that says "disabled", which is what a VM without one is."""
    wanted = change.after.get("agent") or [{}]
    return not change.before.get("agent") and not wanted[0].get("enabled")


def real_differences(change: Change) -> list[Difference]:
    return [found for found in differences(change) if not unreadable(change, found)]


def completed(change: Change) -> dict[str, Any]:
    """The attributes for the state: as they were read, and from the plan what no host stores."""
    real = {found.path[0] for found in real_differences(change)}
    taken = {key: value for key, value in change.after.items() if key not in real}
    return {**change.before, **taken}


def findings(plan: Plan) -> Findings:
    effects = {each.address: each for each in judge(plan, None)}
    refused: list[str] = []
    later: list[str] = []
    for change in plan.acts:
        judged = effects.get(change.address)
        if set(change.actions) == {"update"}:
            _update(change, judged, refused, later)
        elif set(change.actions) == {"create"} and change.type in DOWNLOADS:
            later.append(f"download {change.key or change.address}")
        elif set(change.actions) != {"no-op"}:
            effect = judged.effect if judged else Effect.REPLACES
            why = f" for {', '.join(change.replace_paths)}" if change.replace_paths else ""
            refused.append(f"{change.address}: the plan {effect} it{why}")
    return Findings(tuple(refused), tuple(later))


def harmless(change: Judged) -> bool:
    """Whether adoption may make this change: a mark on a VM, or an image for the next node."""
    if change.effect is Effect.CREATES:
        return change.type in DOWNLOADS
    return change.effect <= Effect.ONLINE


def _update(change: Change, judged: Judged | None, refused: list[str], later: list[str]) -> None:
    real = real_differences(change)
    effects = {cause.attribute: cause.effect for cause in judged.causes} if judged else {}
    gentle = []
    for found in real:
        effect = effects.get(found.attribute, Effect.RESTARTS)
        # Layer 01 is used by others, too: nothing of it is changed here.
        if effect <= Effect.ONLINE and change.type in {VM, FILE}:
            gentle.append(found.attribute)
        else:
            refused.append(
                f"{change.name} {found.attribute}: is {_text(found.before)}, the inventory says "
                f"{_text(found.after)} ({effect})"
            )
    if gentle:
        later.append(f"update {change.name} online: {', '.join(dict.fromkeys(gentle))}")


def _text(value: Any) -> str:
    return "nothing" if value is None or value in ("", [], {}) else str(value)
