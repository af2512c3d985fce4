"""Patch files from operations: one for all nodes, one per role, one per node."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from talops.importing.deltas import HEADER
from talops.inventory.excerpt import is_secret_key, secrets_in
from talops.machineconfig import yamltext
from talops.machineconfig.patches.deletion import MARK
from talops.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from talops.importing.deltas import Operation
    from talops.importing.model import Document, FoundNode
    from talops.machineconfig.patches.identity import Identity

FOLDER = "talos/patches"
# What talops writes from an entry of nodes.yaml. If one node has it elsewhere, the next node that
# is added must still get it.
_OF_A_NODE = frozenset(
    {"HostnameConfig", "LinkAliasConfig", "LinkConfig", "VLANConfig", "Layer2VIPConfig"}
)
_OF_A_NODE_PATHS = (("machine", "network", "hostname"), ("machine", "network", "interfaces"))
_NOTHING: Mapping[str, Mapping[Any, Operation]] = MappingProxyType({})
# Texts inside of a value that are secret whatever its key is: manifests, scripts, certificates.
_SECRET_TEXT = re.compile(r"PRIVATE KEY-----|^\s*[\"']?kind[\"']?:\s*[\"']?Secret\b", re.MULTILINE)
_redact = Redactor()


@dataclass(frozen=True)
class PatchFile:
    """`sealed`: it contains secrets and is encrypted."""

    path: str
    documents: tuple[Document, ...] = field(repr=False)
    sealed: bool = False

    def text(self, comment: str) -> str:
        lines = "".join(f"# {line}\n" for line in comment.splitlines())
        return lines + "---\n".join(yamltext.dump(document) for document in self.documents)


@dataclass(frozen=True)
class Patches:
    """The files, and which key of the inventory names each."""

    everyone: tuple[PatchFile, ...]
    controllers: tuple[PatchFile, ...]
    workers: tuple[PatchFile, ...]
    nodes: Mapping[str, tuple[PatchFile, ...]]

    @property
    def files(self) -> tuple[PatchFile, ...]:
        own = [file for files in self.nodes.values() for file in files]
        return (*self.everyone, *self.controllers, *self.workers, *own)


def arrange(
    nodes: Sequence[FoundNode],
    deltas: Mapping[str, Sequence[Operation]],
    secret_values: frozenset[str] = frozenset(),
    extra: Mapping[str, Mapping[Any, Operation]] = _NOTHING,
) -> Patches:
    """An operation that all nodes, or all of a role, share is written once.

    `extra` comes after everything else, in the files of single nodes.
    """
    controllers = [node for node in nodes if node.controller]
    workers = [node for node in nodes if not node.controller]
    shared = _shared(nodes, deltas)
    of_role = {
        role: _shared(members, deltas) - shared
        for role, members in ((True, controllers), (False, workers))
    }
    own = {
        node.name: _with_extra(
            [o for o in deltas[node.name] if o not in shared and o not in of_role[node.controller]],
            extra.get(node.name, {}),
        )
        for node in nodes
    }

    def written(name: str, operations: Iterable[Operation]) -> tuple[PatchFile, ...]:
        return tuple(_files(f"{FOLDER}/{name}", list(operations), secret_values))

    return Patches(
        written("imported", _in_order(shared, nodes, deltas)),
        written("imported-controllers", _in_order(of_role[True], controllers, deltas)),
        written("imported-workers", _in_order(of_role[False], workers, deltas)),
        {name: written(f"imported-{name}", found) for name, found in own.items() if found},
    )


def _with_extra(own: list[Operation], extra: Mapping[Any, Operation]) -> list[Operation]:
    kept = {(one.identity, one.path): one for one in own}
    for place, operation in extra.items():
        before = kept.get(place)
        removed = before is not None and before.delete
        kept[place] = replace(operation, delete=operation.delete or removed)
    return list(kept.values())


def _shared(
    nodes: Sequence[FoundNode], deltas: Mapping[str, Sequence[Operation]]
) -> set[Operation]:
    if not nodes:
        return set()
    counted = Counter(operation for node in nodes for operation in set(deltas[node.name]))
    found = {one for one, count in counted.items() if count == len(nodes) and not _of_a_node(one)}
    if len(nodes) == 1:
        # What mentions the only node is about it alone.
        names = (nodes[0].name, str(nodes[0].address))
        found = {one for one in found if not any(name in (one.value or "") for name in names)}
    return found


def _of_a_node(operation: Operation) -> bool:
    if operation.identity.is_main:
        return any(operation.path[: len(path)] == path for path in _OF_A_NODE_PATHS)
    return operation.identity.kind in _OF_A_NODE


def _in_order(
    chosen: set[Operation],
    nodes: Sequence[FoundNode],
    deltas: Mapping[str, Sequence[Operation]],
) -> list[Operation]:
    return [one for one in deltas[nodes[0].name] if one in chosen] if chosen else []


def _files(
    path: str, operations: list[Operation], secret_values: frozenset[str]
) -> Iterable[PatchFile]:
    sealed = [one for one in operations if _is_secret(one, secret_values)]
    plain = [one for one in operations if one not in sealed]
    # Removals are plain, and first: what is encrypted may replace them.
    removals = [_removal(one) for one in sealed if one.delete]
    if plain or removals:
        yield PatchFile(f"{path}.yaml", tuple(documents([*plain, *removals])))
    if sealed:
        kept = [_without_removal(one) for one in sealed]
        yield PatchFile(f"{path}.sops.yaml", tuple(documents(kept)), sealed=True)


def _removal(operation: Operation) -> Operation:
    return replace(operation, delete=True, value=None)


def _without_removal(operation: Operation) -> Operation:
    return replace(operation, delete=False)


def _is_secret(operation: Operation, secret_values: frozenset[str]) -> bool:
    if operation.value is None:
        return False
    if any(value in operation.value for value in secret_values):
        return True
    return _mentions_secrets(operation.path[-1:], json.loads(operation.value))


def _mentions_secrets(path: Sequence[str], value: Any) -> bool:
    if isinstance(value, dict):
        return any(_mentions_secrets([key], item) for key, item in value.items())
    if isinstance(value, list):
        return any(_mentions_secrets(path, item) for item in value)
    if not isinstance(value, str) or not value:
        return False
    name = str(path[-1]) if path else ""
    return name.lower() == "key" or is_secret_key(name) or _is_secret_text(value)


def _is_secret_text(text: str) -> bool:
    """Keys, headers and URLs with passwords, which the log would mask; or a document with some."""
    if _redact(text) != text or _SECRET_TEXT.search(text):
        return True
    return "\n" in text and bool(secrets_in("", text))


def documents(operations: Iterable[Operation]) -> list[Document]:
    """First everything that is removed, then everything that is set."""
    removed: dict[Identity, Document] = {}
    written: dict[Identity, Document] = {}
    for operation in operations:
        if operation.delete:
            document = removed.setdefault(operation.identity, _header(operation.identity))
            _place(document, (*operation.path, MARK), "delete")
        if operation.value is not None:
            document = written.setdefault(operation.identity, _header(operation.identity))
            if operation.path:
                _place(document, operation.path, json.loads(operation.value))
    return [*removed.values(), *written.values()]


def _header(identity: Identity) -> Document:
    if identity.is_main:
        return {}
    given = zip(HEADER, identity, strict=True)
    return {key: value for key, value in given if value}


def _place(document: Document, path: Sequence[str], value: Any) -> None:
    for part in path[:-1]:
        document = document.setdefault(part, {})
    document[path[-1]] = value
