"""The content of resources with few inputs: defaults, lists, copies of secrets.

The templates were recorded; `${…}` stands for what differs between nodes. They are filled in on
read, so that they cost nothing in a lab of many nodes.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.lab.talos.config.document import COMPONENT_SECTIONS
from talops.lab.talos.resources.definitions import known
from talops.lab.talos.resources.kinds import COMPONENTS
from talops.lab.talos.resources.specs import encode, read_data
from talops.lab.talos.resources.store import Item, Stored
from talops.lab.talos.resources.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from talops.lab.talos.machine.node import Node

_FOLLOWED = (
    *(kind for _, kind in COMPONENTS.values()),
    "StaticPods.kubernetes.talos.dev",
    "KubeletConfigs.kubernetes.talos.dev",
    "KubeletSpecs.kubernetes.talos.dev",
)
_PLACE = re.compile(r"\$\{([^}]+)\}")
_CONTROL_PLANE, _WORKER, _MAINTENANCE = "cwm"


@dataclass(frozen=True)
class Template:
    """`on` says which nodes have it: control planes, workers, nodes in maintenance mode."""

    on: str
    id: str
    yaml: str
    owner: str
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    finalizers: tuple[str, ...]
    when: str  # which of `_conditions` must be met, if any


@functools.cache
def _templates() -> Mapping[str, tuple[Template, ...]]:
    return {
        kind: tuple(
            Template(
                on=entry["on"],
                id=entry["id"],
                yaml=entry["yaml"],
                owner=entry.get("owner", ""),
                spec=entry.get("spec", {}),
                labels=entry.get("labels", {}),
                annotations=entry.get("annotations", {}),
                finalizers=tuple(entry.get("finalizers", ())),
                when=entry.get("when", ""),
            )
            for entry in entries
        )
        for kind, entries in read_data("content.json").items()
    }


def recorded(node: Node, kind: str) -> Iterator[Stored]:
    """Resources of one kind, by id."""
    values, met = Values(node), {"", *_conditions(node)}
    for template in _templates().get(kind, ()):
        if _role(node) in template.on and template.when in met:
            yield Stored(_item(template, kind, values), 1, node.booted_at, node.booted_at)


def followed(node: Node) -> Iterator[Item]:
    """Those of which clients watch the next version when they change the config."""
    for kind in _FOLLOWED:
        for stored in recorded(node, kind):
            yield dataclasses.replace(stored.item, revision=_revision(node, stored.item))


def _revision(node: Node, item: Item) -> str:
    """What else a config says of a component, which the recorded spec does not show."""
    assert node.config is not None
    section = COMPONENT_SECTIONS.get(item.id)
    found = node.config.cluster.get(section) if section else node.config.machine.get("kubelet")
    return json.dumps(found, sort_keys=True, default=str)


def _conditions(node: Node) -> Iterator[str]:
    if node.config is not None:
        yield "discovery" if node.config.discovery_service else "no discovery"
        if node.config.vips:
            yield "vip"


def _role(node: Node) -> str:
    if node.in_maintenance or node.config is None:
        return _MAINTENANCE
    return _CONTROL_PLANE if node.config.control_plane else _WORKER


def _item(template: Template, kind: str, values: Values) -> Item:
    definition = known(values.node.minor)[kind]
    spec = _filled(template.spec, values)
    return Item(
        definition.namespace,
        kind,
        _text(template.id, values),
        encode(definition.message, spec) if spec else b"",
        functools.partial(_text, template.yaml, values),
        owner=template.owner,
        labels=tuple((k, _text(v, values)) for k, v in template.labels.items()),
        annotations=tuple((k, _text(v, values)) for k, v in template.annotations.items()),
        finalizers=template.finalizers,
    )


def _filled(value: Any, values: Values) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"text"}:  # bytes that are text
            return base64.b64encode(_text(value["text"], values).encode()).decode()
        return {_text(k, values): _filled(v, values) for k, v in value.items()}
    if isinstance(value, list):
        return [_filled(v, values) for v in value]
    return _text(value, values) if isinstance(value, str) else value


def _text(template: str, values: Values) -> str:
    return _PLACE.sub(lambda found: values.text(found[1]), template)
