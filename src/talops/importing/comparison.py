"""The zero-difference proof: what talops would apply, leaf by leaf, against what runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from talops.importing.deltas import HEADER, empty, same
from talops.importing.vms import vm_differences
from talops.machineconfig.cost_table import Cost
from talops.machineconfig.costs import consequences
from talops.machineconfig.effects import reboot_needed
from talops.machineconfig.patches.identity import identify
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from talops.importing.model import Document, FoundCluster
    from talops.inventory.model import Cluster

_MISSING = object()


class Effect(StrEnum):
    """When a difference would take effect if the config were applied."""

    LIVE = "takes effect without a reboot"
    REBOOT = "takes effect after a reboot"
    INSTALL = "takes effect only after a new installation"
    VM = "changes the VM"


@dataclass(frozen=True)
class Difference:
    """`path` names the leaf; values can be secret and are left out."""

    node: str
    path: str
    effect: Effect

    def __str__(self) -> str:
        return f"{self.node}: {self.path}: {self.effect}"


def compare(
    found: FoundCluster, cluster: Cluster, configs: Mapping[str, Sequence[Document]]
) -> tuple[Difference, ...]:
    """`configs`: what talops would apply to each node. Nothing is applied."""
    differences: list[Difference] = []
    ours = {node.name: node for node in cluster.nodes}
    for node in found.nodes:
        differences += of_configs(
            node.name, node.documents, configs[node.name], found.talos_version
        )
        if node.vm:
            changed = vm_differences(node.vm, cluster, ours[node.name])
            differences += [Difference(node.name, f"VM {name}", Effect.VM) for name in changed]
    return tuple(differences)


def of_configs(
    name: str, running: Sequence[Document], wanted: Sequence[Document], talos_version: str
) -> Iterator[Difference]:
    paths = list(differing_leaves(running, wanted))
    if not paths:
        return
    reboots = reboot_needed(running, wanted, talos_version)
    fixed = {one.path for one in consequences(running, wanted) if one.cost is Cost.FIXED}
    for path in paths:
        yield Difference(name, path, _effect(path, reboots, fixed))


def summary(differences: Sequence[Difference]) -> str:
    return count(len(differences), "difference")


def _effect(path: str, reboots: Iterable[str], fixed: Iterable[str]) -> Effect:
    if any(path.endswith(each) or each in path for each in fixed):
        return Effect.INSTALL
    if any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in reboots):
        return Effect.REBOOT
    # The whole of a new or removed document.
    return Effect.REBOOT if any(each.startswith(f"{path}.") for each in reboots) else Effect.LIVE


def differing_leaves(left: Sequence[Document], right: Sequence[Document]) -> Iterator[str]:
    """Every leaf that is different, or that only one of the two has; in the order of `right`."""
    old, new = ({identify(d): d for d in side} for side in (left, right))
    for identity in dict.fromkeys([*new, *old]):
        name = "" if identity.is_main else str(identity)
        if identity in old and identity in new:
            yield from _below(_body(old[identity]), _body(new[identity]), name)
        else:
            yield name or "the main document"


def _body(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in HEADER}


def _below(left: Any, right: Any, path: str) -> Iterator[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in dict.fromkeys([*right, *left]):
            was, will = left.get(key, _MISSING), right.get(key, _MISSING)
            yield from _of_key(was, will, f"{path}.{key}".lstrip("."))
    elif isinstance(left, list) and isinstance(right, list):
        yield from _of_lists(left, right, path)
    elif not same(left, right):
        yield path


def _of_key(was: Any, will: Any, path: str) -> Iterator[str]:
    absent = [side is _MISSING or empty(side) for side in (was, will)]
    if all(absent):
        return
    if _no_key(was, will, path):
        return
    if any(absent):
        yield path
    else:
        yield from _below(was, will, path)


def _no_key(was: Any, will: Any, path: str) -> bool:
    """The empty key of a CA, which workers do not have."""
    both = [side for side in (was, will) if side is not _MISSING]
    return path.endswith(".key") and both == [""]


def _of_lists(left: list[Any], right: list[Any], path: str) -> Iterator[str]:
    for place in range(max(len(left), len(right))):
        here = f"{path}[{place}]"
        if place >= len(left) or place >= len(right):
            yield here
        elif not same([left[place]], [right[place]]):
            found = list(_below(left[place], right[place], here))
            yield from found or [here]
