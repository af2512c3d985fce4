"""Compare what a node runs with what it should run, and derive the change. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.approval import Impact
from talops.pipeline.stage import Change
from talops.site.enrolment.proof import Doubt, refusal
from talops.site.fleet import InMaintenance, Unreachable
from talops.site.founding.advice import etcd_lost
from talops.talos.calls.machine import ApplyMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from talops.inventory.model import Cluster, Node
    from talops.machineconfig.kubernetes_images import Held
    from talops.site.enrolment.proof import Candidate
    from talops.site.fleet import State

FIRST = "install"
UPDATE = "apply"
# A worker that cannot answer yet; once it does, it gets the config that it lacks.
AWAIT = "await"


@dataclass(frozen=True)
class NodeFacts:
    """`effect` is the node's answer to a dry run of a config that differs.

    `at_boot` lists what the node accepts immediately but uses only after a reboot: since Talos 1.14
    the answer does not include it. `candidate` is the machine that answers in maintenance mode.
    """

    state: State
    same: bool
    effect: ApplyMode | None = None
    differs: tuple[str, ...] = ()
    at_boot: tuple[str, ...] = ()
    wanted: str = field(default="", repr=False)
    candidate: Candidate | None = None
    # Components of Kubernetes that an upgrade has to raise; `wanted` keeps their versions.
    held: tuple[Held, ...] = ()

    @property
    def reboots(self) -> bool:
        return self.effect is ApplyMode.REBOOT or bool(self.at_boot)


@dataclass(frozen=True)
class Facts:
    nodes: Mapping[str, NodeFacts]


@dataclass(frozen=True)
class ConfigChange(Change):
    reboots: bool = False
    config: str = field(default="", repr=False)

    @property
    def impact(self) -> Impact:
        if self.action == FIRST:
            return Impact.CREATES
        return Impact.RESTARTS if self.reboots else Impact.CHANGES


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
    effect = "without a reboot"
    if seen.reboots:
        effect = f"reboots for {', '.join(seen.at_boot)}" if seen.at_boot else "reboots"
    return _change(UPDATE, name, f"{', '.join(seen.differs)}: {effect}", seen)


def _identity(candidate: Candidate | None) -> str:
    if candidate is None:
        return ""
    found = candidate.judgement
    return f"; {found.reason if found.doubt else 'proven by ' + ', '.join(found.evidence)}"


def _change(action: str, name: str, detail: str, seen: NodeFacts) -> ConfigChange:
    return ConfigChange(action, name, detail, name, seen.reboots, seen.wanted)
