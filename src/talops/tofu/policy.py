"""Which changes require an option, and which are refused. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.tofu.plan import CONTROL_PLANE, DOWNLOADS
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.tofu.judge import Judged

# Can be downloaded or computed again without loss; nothing runs on them.
DISPOSABLE = DOWNLOADS
BUILT_IN = ("terraform_data", "null_resource", "random_", "time_")


class RefusedError(TalopsError):
    """A change of a plan that is not allowed."""


@dataclass(frozen=True)
class Policy:
    """Names of resources that can be replaced, destroyed or cut off. `everything` is for `down`.
    `fresh` are addresses whose creation talops started but did not finish; such a VM is replaced
    without confirmation. `protected` are nodes that no option opens.
    """

    allow_replace: frozenset[str] = frozenset()
    allow_destroy: frozenset[str] = frozenset()
    allow_disconnect: frozenset[str] = frozenset()
    # Control planes that may stop although etcd is not healthy; the guard of a site asks for it.
    allow_unhealthy_etcd: frozenset[str] = frozenset()
    protected: frozenset[str] = frozenset()
    everything: bool = False
    fresh: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Refusal:
    judged: Judged
    reason: str
    hint: str


def refusals(changes: Sequence[Judged], policy: Policy) -> list[Refusal]:
    """Every change that this policy does not allow."""
    found = [refusal for change in changes if (refusal := _refuse(change, changes, policy))]
    return found + _quorum(changes, policy)


def check(layer: str, changes: Sequence[Judged], policy: Policy) -> None:
    """Raise one error with all refusals."""
    found = refusals(changes, policy)
    if found:
        lines = [f"{r.judged.name} ({r.judged.address}): {r.reason}" for r in found]
        raise RefusedError(
            "refused to apply this plan; nothing was changed:\n  " + "\n  ".join(lines),
            where=layer,
            hint="; ".join(dict.fromkeys(r.hint for r in found)),
        )


def _refuse(change: Judged, changes: Sequence[Judged], policy: Policy) -> Refusal | None:
    if protected := _protected(change, policy):
        return protected
    if policy.everything or change.effect < Effect.DISCONNECTS or disposable(change):
        return _unread(change, policy)
    if change.tainted and change.address in policy.fresh:
        return None  # its creation did not finish: all that it has comes from this or the last plan
    if change.foreign:
        return _takes_away(change)
    if change.address in policy.fresh:
        return None
    return _unnamed(change, changes, policy) or _unread(change, policy)


def _protected(change: Judged, policy: Policy) -> Refusal | None:
    """A VM whose creation did not finish is not a node yet."""
    names = sorted(change.names & policy.protected)
    if not names or not change.loses_data or change.address in policy.fresh:
        return None
    return Refusal(
        change,
        f"{change.effect} it ({change.why}), and {names[0]} is protected",
        f"to allow this: remove `protected: true` of {names[0]} from nodes.yaml",
    )


def _takes_away(change: Judged) -> Refusal:
    disks = ", ".join(change.foreign)
    again = "then run the same command again"
    return Refusal(
        change,
        f"would detach {disks}, which talops did not create",
        f"detach {disks} of {change.name} in Proxmox: its creation did not finish; {again}"
        if change.tainted
        else f"drain {change.name} so that the volume is detached, {again}",
    )


def _unread(change: Judged, policy: Policy) -> Refusal | None:
    """If the real disks are unknown, any of them may be foreign."""
    if not change.unread or policy.everything or change.address in policy.fresh:
        return None
    return Refusal(
        change,
        "changes disks, but the real disks of the VM could not be read",
        "talops host check",
    )


def _unnamed(change: Judged, changes: Sequence[Judged], policy: Policy) -> Refusal | None:
    flag, allowed = {
        Effect.REPLACES: ("--allow-replace", policy.allow_replace),
        Effect.DISCONNECTS: ("--allow-disconnect", policy.allow_disconnect),
    }.get(change.effect, ("--allow-destroy", policy.allow_destroy))
    if change.address in allowed:
        return None
    reason = f"{change.effect} it ({change.why})"
    if change.name not in allowed:
        return Refusal(change, reason, f"to allow this: {flag} {change.name}")
    namesakes = [c for c in changes if c.name == change.name and c.effect is change.effect]
    if len(namesakes) > 1:
        return Refusal(
            change,
            f"{reason}, and {len(namesakes)} resources have that name",
            f"use its address: {flag} '{change.address}'",
        )
    return None


def _quorum(changes: Sequence[Judged], policy: Policy) -> list[Refusal]:
    """Etcd tolerates the loss of one control plane; the next one must wait for its replacement."""
    if policy.everything:
        return []
    touched = [
        c
        for c in changes
        if c.role == CONTROL_PLANE and c.effect >= Effect.RESTARTS and c.address not in policy.fresh
    ]
    gone = [c for c in touched if c.effect >= Effect.FORGETS]
    if not gone or len(touched) == 1:
        return []
    names = ", ".join(c.name for c in touched)
    return [
        Refusal(
            change,
            f"{change.effect} a control plane while others change, too ({names})",
            "change one control plane, wait until etcd is healthy, then change the next one",
        )
        for change in gone
    ]


def disposable(change: Judged) -> bool:
    """It can be downloaded or computed again without loss; nothing runs on it."""
    return change.type in DISPOSABLE or change.type.startswith(BUILT_IN)
