"""What forbids an upgrade of Kubernetes, or endangers it. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.inventory import support
from talops.machineconfig.kubernetes_images import numbers, pinned, version_of
from talops.plural import count
from talops.upgrades.kubernetes.arguments import CHECKED, Arguments, of_config, origin
from talops.upgrades.kubernetes.removed import removed_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from talops.machineconfig.kubernetes_images import Component
    from talops.upgrades.kubernetes.removed import Removed, Resource
    from talops.upgrades.kubernetes.running import NodeRunning, Running
    from talops.upgrades.kubernetes.targets import Targets


@dataclass(frozen=True)
class Use:
    """A deprecated API that was requested since an API server started; `gone` is its last minor."""

    name: str
    gone: int


@dataclass(frozen=True)
class Facts:
    """`talos`: versions by node. `commands`: arguments of components as they run."""

    running: Running
    targets: Targets
    talos: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[tuple[str, Component], Arguments] = field(default_factory=dict)
    stored: Mapping[Resource, int] = field(default_factory=dict)
    uses: frozenset[Use] = frozenset()


def problems(facts: Facts) -> list[str]:
    """What has to be changed before the upgrade; each says where and how."""
    version = facts.targets.version
    found = [*_path(facts.running, version), *_unsupported(facts.talos, version)]
    return found or [*_images(facts), *_removed(facts), *_stored(facts)]


def warnings(facts: Facts) -> list[str]:
    """What is worth knowing, although the upgrade itself would succeed."""
    to = support.minor(facts.targets.version)
    names = sorted(use.name for use in facts.uses if use.gone <= to)
    return [
        f"{name} is requested by a client, and Kubernetes 1.{to} does not serve it any more"
        for name in names
    ]


def hops(running: Running, version: str) -> tuple[int, ...]:
    """The minor versions that the upgrade enters."""
    return tuple(range(support.minor(running.low) + 1, support.minor(version) + 1))


def _path(running: Running, version: str) -> Iterator[str]:
    if numbers(version) < numbers(running.high):
        yield (
            f"Kubernetes {running.high} runs, and no upgrade leads back to {version}: "
            f"set kubernetes_version: {running.high} in cluster.yaml"
        )
    elif len(hops(running, version)) > 1:
        yield (
            f"Kubernetes {running.low} can be upgraded by one minor version at a time, "
            f"not to {version}"
        )


def _unsupported(talos: Mapping[str, str], version: str) -> Iterator[str]:
    for name, running in talos.items():
        low, high = support.KUBERNETES.get(support.minor(running), (1, 0))
        if not low <= support.minor(version) <= high:
            yield f"{name}: Talos {running} does not support Kubernetes {version}: upgrade Talos"


def _images(facts: Facts) -> Iterator[str]:
    version = facts.targets.version
    found: dict[str, list[str]] = defaultdict(list)
    for seen in facts.running.nodes:
        for component, image in facts.targets.images(seen.node).items():
            if version_of(image) != version:
                patch = origin(facts.targets.patches[seen.node.name], image)
                fix = f"write the digest of {version}" if pinned(image) else "remove it"
                text = f"{patch or 'the config'} pins {component} to {image}: {fix}"
                found[text].append(seen.node.name)
    yield from _grouped(found)


def _removed(facts: Facts) -> Iterator[str]:
    found: dict[str, list[str]] = defaultdict(list)
    for minor in hops(facts.running, facts.targets.version):
        removed = removed_by(minor)
        for seen in facts.running.nodes:
            for text in _of_node(facts, seen, removed, minor):
                found[text].append(seen.node.name)
    yield from _grouped(found)


def _of_node(facts: Facts, seen: NodeRunning, removed: Removed, minor: int) -> Iterator[str]:
    patches = facts.targets.patches[seen.node.name]
    wanted = facts.targets.configs[seen.node.name].documents
    for component in CHECKED:
        asked = of_config(wanted, component)
        now = of_config(seen.documents, component) | facts.commands.get(
            (seen.node.name, component), Arguments()
        )
        still = set(asked.in_vain(component, removed))
        for kind, name in dict.fromkeys([*still, *now.in_vain(component, removed)]):
            what = f"Kubernetes 1.{minor} does not know the {kind} {name} of {component}"
            if (kind, name) in still:
                place = origin(patches, name) or "the patches"
                yield f"{what}: remove it from {place}, then: talops up --only apply-config"
            else:
                yield f"{what}, which still runs with it: talops up --only apply-config"


def _stored(facts: Facts) -> Iterator[str]:
    to = support.minor(facts.targets.version)
    for resource, number in facts.stored.items():
        if number:
            objects = count(number, "object")
            yield f"Kubernetes 1.{to} does not serve {resource}: migrate or delete its {objects}"


def _grouped(found: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for text, names in found.items():
        yield f"{', '.join(dict.fromkeys(names))}: {text}"
