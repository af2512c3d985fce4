"""What a plan of OpenTofu means for the nodes in its VMs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError
from talops.nodeplan.inplace import refused_identities
from talops.nodeplan.machine import Machine
from talops.rolls.refused import refused
from talops.tofu.plan import CONTROL_PLANE, VM
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from talops.tofu.judge import Judged
    from talops.tofu.plan import Change, Plan

# What takes a disk of its own, or the network that Talos is configured for, from a node.
REPLACING = frozenset({Effect.DISCONNECTS, Effect.REMOVES_DISK, Effect.REPLACES, Effect.FORGETS})
BREAKING = REPLACING | {Effect.DESTROYS}


@dataclass(frozen=True)
class NodeVerdict:
    """Nodes in service. `held`: the plan destroys their VMs, because their entries were removed.
    `broken`: they have to be replaced.
    """

    held: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    refused: ConflictError | None = None


async def judge_nodes(
    plan: Plan, changes: Sequence[Judged], serving: Callable[[], Awaitable[frozenset[str]]]
) -> NodeVerdict:
    """What a plan means for nodes that are in service, which `serving` finds out if it matters."""
    if taken := refused_identities(*machines(plan)):
        return NodeVerdict(refused=refused(taken))
    breaking = [change for change in changes if _may_break(change)]
    if not breaking:
        return NodeVerdict()
    names = await serving()
    held = {change.node for change in breaking if change.effect is Effect.DESTROYS} & names
    broken = [change for change in breaking if change.node in names and _replaces(change)]
    return NodeVerdict(
        frozenset(held),
        frozenset(change.node for change in broken),
        _to_be_replaced(broken) if broken else None,
    )


def images_in_use(kept: Sequence[Judged], others: Collection[str]) -> ConflictError | None:
    """Images that go while nodes that do not change yet have them in their drives."""
    gone = [c.name for c in kept if not c.guest and c.effect in {Effect.DESTROYS, Effect.REPLACES}]
    if not gone:
        return None
    return ConflictError(
        f"{', '.join(gone)} would be removed, but {', '.join(sorted(others))} may still use it; "
        "nothing was changed",
        where="cluster.yaml",
        hint="change talos_version and extensions back until all of these nodes are replaced",
    )


def machines(plan: Plan) -> tuple[tuple[Machine, ...], tuple[Machine, ...]]:
    """All nodes of a layer before and after the plan, also those that do not change."""
    vms = [change for change in plan.changes if change.type == VM and change.role]
    return _side(vms, before=True), _side(vms, before=False)


def _may_break(change: Judged) -> bool:
    """The VM of a node is stopped, or changed in a way that Talos does not survive."""
    return change.guest and bool(change.role) and not change.tainted and change.effect in BREAKING


def _replaces(change: Judged) -> bool:
    """It has to leave the cluster first. Disks of others have a refusal of their own."""
    return change.effect in REPLACING and not change.foreign and not change.unread


def _to_be_replaced(broken: Sequence[Judged]) -> ConflictError:
    """No option of `up` opens this: the node has to leave the cluster in the right order."""
    return ConflictError(
        "these nodes cannot change in place; nothing was changed:\n  "
        + "\n  ".join(f"{change.node}: {change.why}" for change in broken),
        where="nodes.yaml",
        hint="one after the other: "
        + "; ".join(f"talops replace {change.node}" for change in broken),
    )


def _side(vms: Sequence[Change], *, before: bool) -> tuple[Machine, ...]:
    sides = ((vm, vm.before if before else vm.after) for vm in vms)
    return tuple(_machine(vm.node, values) for vm, values in sides if values)


def _machine(name: str, values: Mapping[str, Any]) -> Machine:
    card, disk = _first(values, "network_device"), _first(values, "disk")
    cpu, memory = _first(values, "cpu"), _first(values, "memory")
    return Machine(
        name,
        CONTROL_PLANE in (values.get("tags") or ()),
        _address(values),
        str(card.get("mac_address") or ""),
        values.get("vm_id"),
        str(values.get("node_name") or ""),
        int(cpu.get("cores") or 0) * int(cpu.get("sockets") or 1),
        int(memory.get("dedicated") or 0),
        int(disk.get("size") or 0),
        tuple(str(d.get("mapping") or d.get("id")) for d in values.get("hostpci") or []),
    )


def _address(values: Mapping[str, Any]) -> str:
    config = _first(_first(values, "initialization"), "ip_config")
    return str(_first(config, "ipv4").get("address") or "").partition("/")[0]


def _first(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    listed = values.get(key) or []
    return listed[0] if listed and isinstance(listed[0], dict) else {}
