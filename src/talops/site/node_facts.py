"""Compare what a node runs with what it should run, and derive the change. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.errors import ConflictError
from talops.machineconfig.cost_table import Cost
from talops.pipeline.stage import Change
from talops.site.enrolment.proof import Doubt, refusal
from talops.site.fleet import InMaintenance, Unreachable
from talops.site.founding.advice import etcd_lost
from talops.talos.calls.machine import ApplyMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from talops.errors import TalopsError
    from talops.inventory.model import Cluster, Node
    from talops.machineconfig.costs import Consequence
    from talops.machineconfig.kubernetes_images import Held
    from talops.machineconfig.shared_secrets import OtherSecret
    from talops.site.enrolment.proof import Candidate
    from talops.site.fleet import State

FIRST = "install"
UPDATE = "apply"
# A worker that cannot answer yet; once it does, it gets the config that it lacks.
AWAIT = "await"
# An interrupted roll took it out of service; it runs its config, so only the return is left.
RETURN = "return"
# Why a roll takes a node out of service, as the Node shows it.
REASON = "machine config"


@dataclass(frozen=True)
class NodeFacts:
    """`effect` is the node's answer to a dry run of a config that differs.

    `at_boot` lists what the node accepts immediately but uses only after a reboot: since Talos 1.14
    the answer does not include it. `candidate` is the machine that answers in maintenance mode.
    `trying`: it runs the wanted config, but has stored another one. `others`: secrets that it has
    in common with all nodes, and that the wanted config has not.
    """

    state: State
    same: bool
    effect: ApplyMode | None = None
    differs: tuple[str, ...] = ()
    at_boot: tuple[str, ...] = ()
    wanted: str = field(default="", repr=False)
    candidate: Candidate | None = None
    costs: tuple[Consequence, ...] = ()
    trying: bool = False
    others: tuple[OtherSecret, ...] = ()
    # Components of Kubernetes that an upgrade has to raise; `wanted` keeps their versions.
    held: tuple[Held, ...] = ()

    @property
    def reboots(self) -> bool:
        return self.effect is ApplyMode.REBOOT or bool(self.at_boot)

    def paths(self, cost: Cost) -> tuple[str, ...]:
        return tuple(one.path for one in self.costs if one.cost is cost)

    @property
    def services(self) -> list[str]:
        return sorted({one.service for one in self.costs if one.service})


@dataclass(frozen=True)
class Standing:
    """What the order of running nodes depends on, as `rolls` has it for its candidates."""

    sick: bool = False
    under_way: bool = False
    leader: bool = False


@dataclass(frozen=True)
class Facts:
    """`founded`: etcd was bootstrapped, so that nodes serve a cluster. `left`: nodes that an
    interrupted roll took out of service and that run their config.
    """

    nodes: Mapping[str, NodeFacts]
    founded: bool = False
    standing: Mapping[str, Standing] = field(default_factory=dict)
    left: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ConfigChange(Change):
    """`cuts`: what could make the node unreachable. `fixed`: what no apply can change. `services`:
    what starts again. `leaves`: this run replaces the node, which gets its config as a new one.
    """

    reboots: bool = False
    config: str = field(default="", repr=False)
    cuts: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    leaves: bool = False
    trying: bool = False
    founded: bool = False
    standing: Standing = field(default_factory=Standing)

    @property
    def serves(self) -> bool:
        """The node is part of a cluster that is in use."""
        return self.founded and self.action in {UPDATE, RETURN}

    @property
    def impact(self) -> Impact:
        if self.action == FIRST:
            return Impact.CREATES
        if self.fixed:
            return Impact.REPLACES
        if self.reboots:
            return Impact.RESTARTS
        return Impact.RESTARTS_SERVICE if self.services else Impact.CHANGES

    def refusal(self) -> TalopsError | None:
        return None if self.leaves else unchangeable([self])


def unchangeable(changes: Iterable[ConfigChange]) -> ConflictError | None:
    """Why these configs cannot be applied, and the way that works."""
    fixed = [change for change in changes if change.fixed]
    if not fixed:
        return None
    rows = [f"{change.target}: {', '.join(change.fixed)}" for change in fixed]
    commands = "; ".join(f"talops replace {change.target}" for change in fixed)
    return ConflictError(
        "these settings cannot change on an installed node; nothing was sent:\n  "
        + "\n  ".join(rows),
        where="cluster.yaml, nodes.yaml",
        hint=f"take the change back, or install the nodes again, one after the other: {commands}",
    )


def since(
    applied: Iterable[ConfigChange], found: Mapping[str, NodeFacts]
) -> Mapping[str, NodeFacts]:
    """The observed nodes that no change was applied to since."""
    touched = {change.target for change in applied}
    return {name: seen for name, seen in found.items() if name not in touched}


def require_own_machines(
    nodes: Sequence[Node], found: Mapping[str, NodeFacts], cluster: Cluster
) -> None:
    """Raise if another machine answers for a node, or one that had a config before.

    A machine of which nothing is known stays in the plan: the user may accept it.
    """
    doubted = [
        (node, candidate.judgement)
        for node in nodes
        if node.name in found
        and (candidate := found[node.name].candidate)
        and candidate.judgement.doubt in {Doubt.OTHER, Doubt.RETURNED, Doubt.SWAPPED}
    ]
    if doubted:
        raise etcd_lost(doubted, cluster) or refusal(doubted)


def require_own_secrets(found: Mapping[str, NodeFacts]) -> None:
    """Raise if the wanted configs have other secrets than the nodes: each would be separated from
    the rest, or lose data.
    """
    by_secret: dict[OtherSecret, list[str]] = {}
    for name, seen in found.items():
        for secret in seen.others:
            by_secret.setdefault(secret, []).append(name)
    if by_secret:
        rows = [
            f"{secret.name} of {', '.join(names)}: {secret.breaks}"
            for secret, names in by_secret.items()
        ]
        raise ConflictError(
            "the secrets in talos/ are not those that the nodes run; nothing was sent:\n  "
            + "\n  ".join(rows),
            where=next(iter(by_secret)).path,
            hint="restore the secrets that this cluster was created with (git log -- talos), or "
            "remove the patch that sets them; talops does not replace them on running nodes",
        )


def change_for(name: str, seen: NodeFacts) -> ConfigChange | None:
    """The change that gives a node its config; None if it has it."""
    if isinstance(seen.state, InMaintenance):
        detail = f"first config: installs, then reboots{_identity(seen.candidate)}"
        return _change(FIRST, name, detail, seen)
    if isinstance(seen.state, Unreachable):
        return _change(
            AWAIT, name, "does not answer until a control plane signs its certificate", seen
        )
    if seen.same:
        return None
    return _change(UPDATE, name, f"{', '.join(seen.differs)}: {_effect(seen)}", seen)


def _effect(seen: NodeFacts) -> str:
    if fixed := seen.paths(Cost.FIXED):
        return f"cannot change on an installed node: {', '.join(fixed)}"
    effect = "without a reboot"
    if seen.reboots:
        effect = f"reboots for {', '.join(seen.at_boot)}" if seen.at_boot else "reboots"
    elif seen.services:
        effect = f"restarts {', '.join(seen.services)}"
    return f"{effect}, tried first" if seen.paths(Cost.CUT) else effect


def _identity(candidate: Candidate | None) -> str:
    if candidate is None:
        return ""
    found = candidate.judgement
    return f"; {found.reason if found.doubt else 'proven by ' + ', '.join(found.evidence)}"


def _change(action: str, name: str, detail: str, seen: NodeFacts) -> ConfigChange:
    return ConfigChange(
        action,
        name,
        detail,
        name,
        seen.reboots,
        seen.wanted,
        cuts=seen.paths(Cost.CUT),
        fixed=seen.paths(Cost.FIXED),
        services=tuple(seen.services),
        trying=seen.trying,
    )
