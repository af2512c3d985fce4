"""The plan judge: the effect of each planned change and the attribute that causes it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.tofu.differences import differences
from talops.tofu.plan import GUESTS, HOST_NETWORKS, VM
from talops.tofu.rules import Effect, claimed, effect_of, host_network, slots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.tofu.plan import Change, Plan

REASONS = {
    "replace_because_tainted": "its creation did not finish",
    "replace_because_cannot_update": "cannot be changed in place",
    "replace_by_request": "requested by -replace",
    "replace_by_triggers": "replace_triggered_by",
    "delete_because_no_resource_config": "no longer in the configuration",
    "delete_because_no_module": "no longer in the configuration",
    "delete_because_each_key": "no longer in the configuration",
    "delete_because_count_index": "no longer in the configuration",
    "delete_because_wrong_repetition": "no longer in the configuration",
    "delete_because_no_move_target": "its new address does not exist",
}


@dataclass(frozen=True)
class Cause:
    """An attribute and the effect of its change; values are None if they are not useful."""

    attribute: str
    effect: Effect
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        if self.before is None and self.after is None:
            return self.attribute
        return f"{self.attribute}: {_short(self.before)} → {_short(self.after)}"


@dataclass(frozen=True)
class Judged:
    """`foreign`: disks that talops did not create. `unread`: the disks could not be read. `off`:
    the VM did not run when the plan was made. `node`: its name in the inventory.
    """

    address: str
    name: str
    type: str
    role: str
    effect: Effect
    causes: tuple[Cause, ...]
    tainted: bool = False
    foreign: tuple[str, ...] = ()
    unread: bool = False
    off: bool = False
    node: str = ""

    @property
    def guest(self) -> bool:
        return self.type in GUESTS

    @property
    def names(self) -> frozenset[str]:
        """What it may be called on the command line: its current name, or its node."""
        return frozenset({self.name, self.node}) - {""}

    @property
    def stops(self) -> bool:
        """A VM that runs is stopped or cut off, or one loses a disk that others may count on."""
        if not self.guest or self.effect is Effect.FORGETS:
            return False
        return self.effect >= (Effect.REMOVES_DISK if self.off else Effect.RESTARTS)

    @property
    def loses_data(self) -> bool:
        """Also if it is only removed from the state: nothing keeps it or its disks any more."""
        return self.effect >= Effect.REMOVES_DISK

    @property
    def why(self) -> str:
        """The causes of the effect, without those of weaker effects."""
        return ", ".join(str(c) for c in self.causes if c.effect is self.effect)

    def as_dict(self) -> dict[str, Any]:
        return {
            "address": self.address,
            "name": self.name,
            "role": self.role,
            "effect": str(self.effect),
            "causes": [
                {"attribute": c.attribute, "effect": str(c.effect), "change": str(c)}
                for c in self.causes
            ],
            "foreign_disks": list(self.foreign),
        }


def judge(plan: Plan, attached: Mapping[int, frozenset[str]] | None = None) -> list[Judged]:
    """Every change of the plan, the strongest effect first."""
    found = [_judge(change, attached) for change in plan.acts]
    return sorted(found, key=lambda judged: (-judged.effect, judged.address))


def _judge(change: Change, attached: Mapping[int, frozenset[str]] | None) -> Judged:
    effect, causes = _effect(change)
    foreign: frozenset[str] | None = frozenset()
    touched = _touches_disks(change, effect, causes)
    if touched:
        foreign = _foreign(change, attached)
    elif new := _new_drives(change):
        touched, foreign = True, _in_slots(new, change, attached)
    if foreign and effect < Effect.REMOVES_DISK:
        # bpg/proxmox detaches every unknown disk as soon as any disk block changes.
        effect = Effect.REMOVES_DISK
        causes = (*causes, *(Cause(f"disk.{slot}", effect) for slot in sorted(foreign)))
    return Judged(
        change.address,
        change.name,
        change.type,
        change.role,
        effect,
        causes,
        tainted="tainted" in change.reason,
        foreign=tuple(sorted(foreign or ())),
        unread=touched and foreign is None,
        off=change.off,
        node=change.node,
    )


def _effect(change: Change) -> tuple[Effect, tuple[Cause, ...]]:
    actions = set(change.actions)
    for action, effect in (("delete", Effect.DESTROYS), ("forget", Effect.FORGETS)):
        if action in actions:
            if "create" in actions:
                return Effect.REPLACES, _replacement(change)
            reason = REASONS.get(change.reason, change.reason)
            if change.deposed:
                reason = "left over from an unfinished replacement"
            return effect, (Cause(reason or "asked for", effect),)
    if actions == {"create"}:
        return Effect.CREATES, ()
    if actions <= {"no-op", "read", "open", "close"}:
        return Effect.NOTHING, ()
    return _update(change)


def _replacement(change: Change) -> tuple[Cause, ...]:
    paths = change.replace_paths
    if not paths:
        reason = REASONS.get(change.reason, change.reason) or "asked for"
        return (Cause(reason, Effect.REPLACES),)
    values = {d.attribute: d for d in differences(change)}
    return tuple(
        Cause(path, Effect.REPLACES, values[path].before, values[path].after)
        if path in values
        else Cause(path, Effect.REPLACES)
        for path in paths
    )


def _update(change: Change) -> tuple[Effect, tuple[Cause, ...]]:
    """For a VM, the strongest effect of its attributes; other guests are assumed to restart."""
    usual = Effect.RESTARTS if change.type in GUESTS else Effect.ONLINE
    if change.type.startswith(HOST_NETWORKS):
        usual = host_network(change.before, _with_computed(change))
    causes = tuple(
        Cause(
            d.attribute,
            effect_of(d, change.before, change.after) if change.type == VM else usual,
            d.before,
            d.after,
        )
        for d in differences(change)
    )
    causes = tuple(cause for cause in causes if cause.effect is not Effect.NOTHING)
    # The effect of an update without a visible difference is unknown.
    return max((cause.effect for cause in causes), default=usual), causes


def _with_computed(change: Change) -> dict[str, Any]:
    """What will be, as far as it is known: an attribute that the provider computes is not lost."""
    unknown = change.unknown if isinstance(change.unknown, dict) else {}
    kept = {key: change.before[key] for key in unknown if change.before.get(key)}
    return {**kept, **change.after}


def _touches_disks(change: Change, effect: Effect, causes: tuple[Cause, ...]) -> bool:
    existing = change.type == VM and bool(change.before)
    move = any(cause.attribute.startswith("disk") for cause in causes)
    return existing and (move or effect >= Effect.REPLACES)


def _new_drives(change: Change) -> frozenset[str]:
    """Slots that a CD-ROM or cloud-init drive newly uses."""
    if change.type != VM or not change.before or not change.after:
        return frozenset()
    return claimed(change.after) - claimed(change.before)


def _in_slots(
    taken: frozenset[str], change: Change, attached: Mapping[int, frozenset[str]] | None
) -> frozenset[str] | None:
    """The disks that are detached from these slots; None: could not be read."""
    if attached is None or change.vm_id is None or change.vm_id not in attached:
        return None
    return attached[change.vm_id] & taken


def _foreign(
    change: Change, attached: Mapping[int, frozenset[str]] | None
) -> frozenset[str] | None:
    """Disks of the VM that are not in the state; None: could not be read."""
    if attached is None or change.vm_id is None or change.vm_id not in attached:
        return None
    return attached[change.vm_id] - _made(change)


def _made(change: Change) -> frozenset[str]:
    """Slots of the disks that talops created. If the creation of the VM was interrupted, its state
    may have disks without slots, or no disks; then the slots of the plan count.
    """
    disks = change.before.get("disk") or []
    known = disks and all(isinstance(disk.get("interface"), str) for disk in disks)
    if known or "tainted" not in change.reason:
        return slots(change.before)
    return slots(change.before) | slots(change.after)


def _short(value: Any) -> str:
    text = "nothing" if value is None or value == "" else str(value)
    return text if len(text) <= 40 else f"{text[:37]}…"  # noqa: PLR2004  (a table column)
