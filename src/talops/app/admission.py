"""What the user says about the machines of new nodes, checked against the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from talops import inside
from talops.errors import TalopsError
from talops.inventory.fields import FINGERPRINT
from talops.inventory.source import tree_of
from talops.site.enrolment.admission import Admission

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.site.enrolment.proof import Acceptable


def admission(
    cluster: Cluster,
    accepted: Iterable[str] = (),
    reinstall: Iterable[str] = (),
    *,
    any_again: bool = False,
) -> Admission:
    """`accepted` are texts like NODE=KEY; a name that is not a node is an error."""
    keys: dict[str, str] = {}
    for text in accepted:
        name, _, key = text.partition("=")
        if not FINGERPRINT.fullmatch(key):
            raise TalopsError(
                f"{text!r} is not NODE=KEY",
                hint="copy it from the message of talops up; a key has 43 characters and one =",
            )
        keys[name] = key
    again = frozenset(reinstall)
    for name in sorted(again | set(keys)):
        if name not in cluster.node_names:
            raise TalopsError(
                f"this inventory does not have a node {name}",
                where="nodes.yaml",
                hint=f"existing nodes: {', '.join(cluster.node_names)}",
            )
    return Admission(keys, again, any_again)


def acceptable(error: TalopsError | None) -> tuple[Acceptable, ...]:
    """The machines that the user may accept, if a run failed for that reason alone."""
    from talops.site.enrolment.proof import UnprovenMachineError

    return error.acceptable if isinstance(error, UnprovenMachineError) else ()


def keep_uuid(root: Path, node: str, uuid: str) -> None:
    """Write the UUID of a node to nodes.yaml; everything else stays as it is."""
    from talops.inventory.load import NODES_FILE

    file = root / NODES_FILE
    changed = with_uuid(file.read_text(encoding="utf-8"), node, uuid)
    if changed is None:
        raise TalopsError(
            f"cannot add the UUID of {node}: its entry was not found",
            where=str(file),
            hint=f"add to the entry of {node}: uuid: {uuid}",
        )
    inside.write(root, NODES_FILE, changed)


def with_uuid(text: str, name: str, uuid: str) -> str | None:
    """The text with `uuid` before the first key of a node that has none; None if it cannot be."""
    entry = _entry(tree_of(text), name)
    if entry is None or not entry.value or "uuid" in _keys(entry):
        return None
    mark = entry.value[0][0].start_mark
    lines = text.split("\n")
    line = lines[mark.line]
    before, after = line[: mark.column], line[mark.column :]
    separator = ", " if entry.flow_style else "\n" + " " * mark.column
    lines[mark.line] = f"{before}uuid: {uuid}{separator}{after}"
    return "\n".join(lines)


def _entry(tree: Any, name: str) -> MappingNode | None:
    nodes = _value(tree, "nodes")
    entries = nodes.value if isinstance(nodes, SequenceNode) else []
    return next((e for e in entries if _text(_value(e, "name")) == name), None)


def _value(node: Any, key: str) -> Any:
    pairs = node.value if isinstance(node, MappingNode) else []
    return next((value for k, value in pairs if _text(k) == key), None)


def _text(node: Any) -> str | None:
    return str(node.value) if isinstance(node, ScalarNode) else None


def _keys(node: MappingNode) -> set[str | None]:
    return {_text(key) for key, _ in node.value}
