"""The steps of a rotation from the phase that the secrets are in to its end. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from talops.machineconfig.secrets.rotating import Phase, Rotated
from talops.pipeline.stage import Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from talops.inventory.model import Node


class Kind(StrEnum):
    """`secrets`: the secrets file enters the phase. `node`: one node does, and proves it. `files`:
    kubeconfig and talosconfig. `pods`: those that hold the old CA. `rewrite`: Secrets in etcd.
    `end`: the secrets lose the old one.
    """

    SECRETS = "secrets"
    NODE = "node"
    FILES = "files"
    PODS = "pods"
    REWRITE = "rewrite"
    END = "end"


@dataclass(frozen=True)
class RotationStep(Change):
    rotated: Rotated = Rotated.TALOS_CA
    phase: Phase = Phase.ACCEPT
    kind: Kind = Kind.NODE


_PHASES = list(Phase)
# Which part of a node restarts.
_RESTARTS = {
    Rotated.TALOS_CA: "without a restart",
    Rotated.KUBERNETES_CA: "restarts the kubelet and, on control planes, Kubernetes components",
    Rotated.SERVICE_ACCOUNT: "restarts the API server and the controller manager",
    Rotated.ENCRYPTION: "restarts the API server",
}
_MEANING = {
    Phase.ACCEPT: "accept the new {}, too",
    Phase.ISSUE: "use the new {}, still accept the old one",
    Phase.DROP: "accept only the new {}",
}
WORDS = {
    Rotated.TALOS_CA: "Talos CA",
    Rotated.KUBERNETES_CA: "Kubernetes CA",
    Rotated.SERVICE_ACCOUNT: "service account key",
    Rotated.ENCRYPTION: "encryption key",
}
_ALL_NODES = frozenset({Rotated.TALOS_CA, Rotated.KUBERNETES_CA})


def remaining(wanted: Sequence[Rotated], begun: Iterable[Rotated]) -> Sequence[Rotated]:
    """Of several in this order: if a later one has begun, those before it are done."""
    names = {*begun}
    first = next((number for number, each in enumerate(wanted) if each in names), 0)
    return wanted[first:]


def steps(rotated: Rotated, now: Phase | None, nodes: Sequence[Node]) -> Iterator[RotationStep]:
    """`now`: the phase in the secrets; None outside of a rotation. In that phase, every node is
    visited again: an interrupted run may have ended before any of them.
    """
    for phase in _PHASES:
        if now is not None and _PHASES.index(phase) < _PHASES.index(now):
            continue
        if phase is not now:
            yield _step(rotated, phase, Kind.SECRETS)
        for node in _in_order(nodes, rotated, phase):
            if node.controller or rotated in _ALL_NODES:
                yield _step(rotated, phase, Kind.NODE, node)
        yield from _after(rotated, phase)
    yield _step(rotated, Phase.DROP, Kind.END)


def _in_order(nodes: Sequence[Node], rotated: Rotated, phase: Phase) -> Sequence[Node]:
    """Control planes first. But the kubelet of a worker keeps the certificate of the old CA until
    its own node drops that CA: it needs API servers that still accept it.
    """
    workers_first = (rotated, phase) == (Rotated.KUBERNETES_CA, Phase.DROP)
    return sorted(nodes, key=lambda node: node.controller is workers_first)


def _after(rotated: Rotated, phase: Phase) -> Iterator[RotationStep]:
    """Once all nodes are in this phase."""
    if rotated in _ALL_NODES:
        yield _step(rotated, phase, Kind.FILES)
    if (rotated, phase) in {
        (Rotated.KUBERNETES_CA, Phase.ACCEPT),
        (Rotated.SERVICE_ACCOUNT, Phase.ISSUE),
    }:
        yield _step(rotated, phase, Kind.PODS)
    if (rotated, phase) == (Rotated.ENCRYPTION, Phase.ISSUE):
        yield _step(rotated, phase, Kind.REWRITE)


def _step(rotated: Rotated, phase: Phase, kind: Kind, node: Node | None = None) -> RotationStep:
    words = WORDS[rotated]
    meaning = _MEANING[phase].format(words)
    if node:
        detail = f"{meaning}; {_RESTARTS[rotated]}"
        return RotationStep(
            str(phase), node.name, detail, node.name, rotated=rotated, phase=phase, kind=kind
        )
    target, detail = {
        Kind.SECRETS: ("secrets", f"the {words}: {meaning}"),
        Kind.FILES: ("kubeconfig and talosconfig", f"for phase {phase} of the {words}"),
        Kind.PODS: ("pods", f"that hold only the old {words}"),
        Kind.REWRITE: ("Secrets in etcd", "encrypted with the new key"),
        Kind.END: ("secrets", f"without the old {words}"),
    }[kind]
    action = {Kind.FILES: "renew", Kind.REWRITE: "rewrite", Kind.END: "end"}.get(kind, str(phase))
    return RotationStep(action, target, detail, rotated=rotated, phase=phase, kind=kind)
