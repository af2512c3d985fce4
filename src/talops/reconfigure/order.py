"""Which changes are made, in which order, and how many in parallel. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from talops.pipeline.stage import Batch
from talops.rolls.order import CANARY_FROM, Candidate, Group, groups
from talops.site.node_facts import RETURN, ConfigChange, Standing, change_for, unchangeable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from talops.inventory.model import Cluster
    from talops.rolls.options import RollOptions
    from talops.site.node_facts import Facts


def planned(facts: Facts) -> list[ConfigChange]:
    wanted = [change_for(name, seen) for name, seen in facts.nodes.items()]
    changes = [
        replace(
            change,
            founded=facts.founded,
            standing=facts.standing.get(change.target, Standing()),
        )
        for change in wanted
        if change
    ]
    returned = [
        ConfigChange(RETURN, name, "an interrupted run has drained it", name, founded=True)
        for name in sorted(facts.left)
    ]
    return [*changes, *returned]


def require_changeable(changes: Iterable[ConfigChange]) -> None:
    """Raise for what no apply can change: nothing is sent to any node."""
    if refused := unchangeable(changes):
        raise refused


def in_batches(
    changes: Sequence[ConfigChange], cluster: Cluster, options: RollOptions, at_most: int
) -> list[Batch]:
    """Nodes that serve a cluster first, in the order of a roll; then new ones, all in parallel."""
    serving = {change.target: change for change in changes if change.serves}
    new = tuple(change for change in changes if not change.serves)
    planes = {node.name for node in cluster.control_planes}
    candidates = [
        Candidate(
            name,
            name in planes,
            sick=change.standing.sick,
            under_way=change.standing.under_way or change.action == RETURN,
            leader=change.standing.leader,
        )
        for name, change in serving.items()
    ]
    many = len(candidates) >= CANARY_FROM
    ordered = groups(candidates, len(cluster.workers), options.max_unavailable, canary=many)
    batches = [
        Batch(tuple(serving[name] for name in group.names), group.width)
        for group in _one_first(ordered, serving)
    ]
    return [*batches, Batch(new, at_most)] if new else batches


def _one_first(ordered: Sequence[Group], changes: Mapping[str, ConfigChange]) -> list[Group]:
    """Of all changes that could cut a node off, the first one is alone."""
    found: list[Group] = []
    proven = False
    for group in ordered:
        cutting = [name for name in group.names if changes[name].cuts]
        if cutting and not proven and group.width > 1:
            rest = tuple(name for name in group.names if name != cutting[0])
            found += [Group((cutting[0],)), Group(rest, group.width)]
        else:
            found.append(group)
        proven = proven or bool(cutting)
    return [group for group in found if group.names]
