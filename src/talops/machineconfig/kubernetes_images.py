"""The Kubernetes images of a machine config, in both of its shapes. Pure.

A new `kubernetes_version` must not reach nodes as an ordinary change of their configs: that would
restart all of them at the same time, kubelets before API servers. So a config keeps the versions
that the node runs (`hold`); only an upgrade raises them, component by component (`with_images`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from talops.machineconfig import yamltext

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from talops.machineconfig.generate import MachineConfig

    Document = dict[str, Any]


class Component(StrEnum):
    """In the order of an upgrade: no other component may be newer than the API servers."""

    API_SERVER = "kube-apiserver"
    CONTROLLER_MANAGER = "kube-controller-manager"
    SCHEDULER = "kube-scheduler"
    PROXY = "kube-proxy"
    KUBELET = "kubelet"


STATIC_PODS = (Component.API_SERVER, Component.CONTROLLER_MANAGER, Component.SCHEDULER)
CONTROL_PLANE = (*STATIC_PODS, Component.PROXY)
Images = dict[Component, str]
Versions = dict[Component, str]

# Where the main document configures each component, and the document that replaces it since
# Talos 1.14; a config may contain only one of the two.
_FIELDS = {
    Component.API_SERVER: ("cluster", "apiServer"),
    Component.CONTROLLER_MANAGER: ("cluster", "controllerManager"),
    Component.SCHEDULER: ("cluster", "scheduler"),
    Component.PROXY: ("cluster", "proxy"),
    Component.KUBELET: ("machine", "kubelet"),
}
_KINDS = {
    Component.API_SERVER: "KubeAPIServerConfig",
    Component.CONTROLLER_MANAGER: "KubeControllerManagerConfig",
    Component.SCHEDULER: "KubeSchedulerConfig",
    Component.PROXY: "KubeProxyConfig",
    Component.KUBELET: "KubeletConfig",
}
_IMAGE = re.compile(
    r"(?P<name>[^@]+?):(?P<version>v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)"
    r"(?P<variant>-fat|-slim)?(?P<digest>@.+)?"
)
_NUMBER = re.compile(r"[0-9]{1,9}")
_STAGES = ("alpha", "beta", "rc")
RELEASED = len(_STAGES)


def images(documents: Iterable[Document]) -> Images:
    """The images that these documents name; Talos has defaults for the others."""
    listed = list(documents)
    found = {component: section(listed, component).get("image") for component in Component}
    return {component: str(image) for component, image in found.items() if image}


def version_of(image: str) -> str:
    """`v1.36.3` of an image of Kubernetes; empty if its tag is not a version."""
    found = _IMAGE.fullmatch(image)
    return found["version"] if found else ""


def pinned(image: str) -> bool:
    """Whether a digest belongs to it: then the image of another version is not known."""
    return "@" in image


def at_version(image: str, version: str) -> str:
    """The same image in another version; unchanged if that is not known."""
    found = _IMAGE.fullmatch(image)
    if found is None or found["digest"] or found["version"] == version:
        return image
    return f"{found['name']}:{version}{found['variant'] or ''}"


def versions(documents: Iterable[Document]) -> Versions:
    found = {component: version_of(image) for component, image in images(documents).items()}
    return {component: version for component, version in found.items() if version}


def read(text: str) -> list[Document]:
    """The documents of a running config."""
    return [d for d in yamltext.load_all(text, where="machine config") if isinstance(d, dict)]


def with_images(documents: Iterable[Document], wanted: Mapping[Component, str]) -> list[Document]:
    """Copies with these images: in the component's document if there is one, as Talos reads it."""
    changed = list(documents)
    for component, image in wanted.items():
        kind = _KINDS[component]
        at = next((n for n, d in enumerate(changed) if d.get("kind") == kind), None)
        if at is not None:
            changed[at] = changed[at] | {"image": image}
            continue
        at = next(n for n, d in enumerate(changed) if "kind" not in d)
        top, part = _FIELDS[component]
        upper = changed[at].get(top) or {}
        inner = (upper.get(part) or {}) | {"image": image}
        changed[at] = changed[at] | {top: upper | {part: inner}}
    return changed


@dataclass(frozen=True)
class Held:
    """A component of a node that runs another version than its inventory names."""

    component: Component
    wanted: str
    running: str


def held(wanted: Iterable[Document], running: Mapping[Component, str]) -> tuple[Held, ...]:
    """What `hold` keeps in another version."""
    found = []
    for component, image in images(wanted).items():
        now, then = _running(component, running), version_of(image)
        if now and then and now != then:
            found.append(Held(component, then, now))
    return tuple(found)


@dataclass(frozen=True)
class Kept:
    """A config for a node that runs: as wanted, but with the versions of Kubernetes that it has."""

    config: MachineConfig
    held: tuple[Held, ...] = ()


def hold(
    config: MachineConfig, running: Mapping[Component, str], now: Images | None = None
) -> Kept:
    """`now` are the node's images: they stay where a digest pins the image that is wanted."""
    differences, wanted = held(config.documents, running), images(config.documents)
    if not differences:
        return Kept(config)
    kept: Images = {}
    for found in differences:
        image = at_version(wanted[found.component], found.running)
        if image == wanted[found.component]:
            image = (now or {}).get(found.component, image)
        kept[found.component] = image
    documents = tuple(with_images(config.documents, kept))
    return Kept(replace(config, documents=documents), differences)


def hold_as(config: MachineConfig, text: str) -> Kept:
    """For a node that runs the config `text`."""
    if not text or text == config.to_yaml():  # most nodes run exactly this text
        return Kept(config)
    documents = read(text)
    return hold(config, versions(documents), images(documents))


def _running(component: Component, running: Mapping[Component, str]) -> str:
    """A component without an image of its own follows the oldest of the others."""
    return running.get(component) or min(running.values(), key=numbers, default="")


def numbers(version: str) -> tuple[int, ...]:
    """For comparisons; a release candidate is older than its release."""
    release, _, rest = version.removeprefix("v").partition("-")
    parts = tuple(int(part) for part in release.split(".") if _NUMBER.fullmatch(part))
    if not parts:  # not a version: older than all
        return ()
    stage, _, number = rest.partition(".")
    if stage not in _STAGES or not _NUMBER.fullmatch(number):
        return (*parts, RELEASED)
    return (*parts, _STAGES.index(stage), int(number))


def section(documents: Sequence[Document], component: Component) -> Document:
    """What a config says of a component, in the shape that it has."""
    kind = _KINDS[component]
    for document in documents:
        if document.get("kind") == kind:
            return document
    top, part = _FIELDS[component]
    for document in documents:
        if "kind" not in document:
            return ((document.get(top) or {}).get(part)) or {}
    return {}
