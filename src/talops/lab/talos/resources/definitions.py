"""The kinds of resources that a node defines, by version: names, columns, who may read them."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.lab.talos.resources.specs import read_data
from talops.lab.talos.resources.store import ResourceStore, item
from talops.talos.wire import cosi_meta_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.lab.talos.resources.store import Item

META = "meta"
DEFINITIONS = (META, "ResourceDefinitions.meta.cosi.dev")
NAMESPACES = (META, "Namespaces.meta.cosi.dev")


@dataclass(frozen=True)
class Definition:
    """`message` is the spec's, empty where a spec has no fields; `columns` are name and path."""

    type: str
    display: str
    namespace: str
    aliases: tuple[str, ...]
    all_aliases: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    sensitive: bool
    owner: str
    message: str
    skips_aliases: bool


@functools.cache
def known(minor: int) -> Mapping[str, Definition]:
    """By type. Later entries of the file replace earlier ones."""
    found = {}
    for entry in read_data("definitions.json")["definitions"]:
        if entry.get("since", 0) <= minor:
            found[entry["type"]] = Definition(
                type=entry["type"],
                display=entry["display"],
                namespace=entry["namespace"],
                aliases=tuple(entry["aliases"]),
                all_aliases=tuple(entry["all_aliases"]),
                columns=tuple((name, path) for name, path in entry["columns"]),
                sensitive=bool(entry.get("sensitive")),
                owner=str(entry.get("owner", "")),
                message=str(entry.get("message", "")),
                skips_aliases=bool(entry.get("skip_automatic_aliases")),
            )
    return found


def owned(found: Item, minor: int) -> Item:
    """With the controller that creates such resources on a real node."""
    definition = known(minor).get(found.type)
    if definition is None or found.owner or not definition.owner:
        return found
    return dataclasses.replace(found, owner=definition.owner)


@functools.cache
def meta(minor: int) -> ResourceStore:
    """The same for every node of a version; clients read it before each `get`."""
    store = ResourceStore()
    for definition in known(minor).values():
        spec = _spec(definition)
        store.put(item(DEFINITIONS, definition.type.lower(), spec, _yaml(definition), owner=META))
    for entry in read_data("definitions.json")["namespaces"]:
        if entry.get("since", 0) <= minor:
            words = entry["description"]
            spec_of = cosi_meta_pb2.NamespaceSpec(description=words)
            yaml = {"description": words}
            store.put(item(NAMESPACES, entry["name"], spec_of, yaml, owner=META))
    return store


def _spec(definition: Definition) -> cosi_meta_pb2.ResourceDefinitionSpec:
    kind = cosi_meta_pb2.ResourceDefinitionSpec
    return kind(
        resource_type=definition.type,
        display_type=definition.display,
        default_namespace=definition.namespace,
        aliases=definition.aliases,
        all_aliases=definition.all_aliases,
        print_columns=[kind.PrintColumn(name=n, json_path=p) for n, p in definition.columns],
        sensitivity=kind.SENSITIVE if definition.sensitive else kind.NON_SENSITIVE,
    )


def _yaml(definition: Definition) -> dict[str, Any]:
    skips = {"skipAutomaticAliases": True} if definition.skips_aliases else {}
    found: dict[str, Any] = {
        "type": definition.type,
        "displayType": definition.display,
        "defaultNamespace": definition.namespace,
        "aliases": list(definition.aliases),
        "allAliases": list(definition.all_aliases),
        **skips,
        "printColumns": [{"name": n, "jsonPath": p} for n, p in definition.columns],
    }
    if definition.sensitive:
        found["sensitivity"] = "sensitive"
    return found
