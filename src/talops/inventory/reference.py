"""The documentation of the inventory, generated from the models."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

from talops.inventory.files import (
    CREDENTIALS,
    REQUIRED_CLUSTER,
    REQUIRED_NODE,
    ClusterFile,
    NodeFile,
)
from talops.inventory.keys.foreign import FOREIGN_NAMES, FOREIGN_PREFIXES
from talops.inventory.sections import Section

INTRODUCTION = """\
# The inventory

Two files describe a cluster: `cluster.yaml` and `nodes.yaml`. They are the single source of truth; commit them.
`talops check` validates them within a second and reports every problem at once, as `file:line:column: what — hint`.
An empty value (`key:` or `key: ""`) means "not set". `talops schema cluster` and `talops schema nodes` print JSON Schemas
for editors; `talops inventory show` prints the result with defaults filled in.

VM sizes fall back per key: node (`vm_cores`) → role (`proxmox_vm_controller_defaults`,
`proxmox_vm_worker_defaults`) → `proxmox_vm_defaults` → 4 cores, 1 socket, 8192 MiB, 128 GiB. A VM without `mac_addr` gets
one derived from the cluster name and the node name. Control planes start first (order 1, workers 2; 15 s apart, 60 s to
shut down). Without `proxmox_api_url` and `proxmox_node` the cluster is bare metal: talops renders no OpenTofu files, and
every node requires `mac_addr` and `disk`.
"""


def inventory_reference() -> str:
    parts = [
        INTRODUCTION,
        "## cluster.yaml\n",
        _table(ClusterFile, REQUIRED_CLUSTER),
        "## nodes.yaml\n\nOne list, `nodes`, with an entry per node.\n",
        _table(NodeFile, REQUIRED_NODE),
        "## Sections\n",
        *(_section(model) for model in _sections()),
        _foreign(),
        _credentials(),
    ]
    return "\n".join(parts)


def _table(model: type[Section], required: tuple[str, ...] = ()) -> str:
    rows = ["| key | value | |", "| --- | --- | --- |"]
    for name, field in model.model_fields.items():
        mark = f"`{name}`" + (" **required**" if name in required or field.is_required() else "")
        default = "" if field.default in (None, ...) or field.is_required() else field.default
        shown = f" Default `{_in_yaml(default)}`." if default != "" else ""
        if field.default_factory is not None:
            made = field.default_factory()  # type: ignore[call-arg]  # none of ours takes the data
            shown = f" Default `{', '.join(map(str, made))}`." if made else ""
        rows.append(f"| {mark} | {_kind(field.annotation)} | {field.description}{shown} |")
    return "\n".join(rows) + "\n"


def _in_yaml(value: Any) -> str:
    """A default as a user writes it in cluster.yaml."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(annotation: Any) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " \\| ".join(f"`{choice}`" for choice in args)
    if origin in {Union, types.UnionType}:
        return " or ".join(_kind(arg) for arg in args if arg is not type(None))
    if origin is list:
        return f"list of {_kind(args[0])}"
    if origin is dict:
        return "mapping"
    if hasattr(annotation, "__metadata__"):
        return _kind(args[0])
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    names = {"str": "string", "int": "number", "bool": "true/false"}
    names |= {"IPv4Address": "IPv4 address", "IPv4Network": "IPv4 network"}
    return names.get(getattr(annotation, "__name__", ""), "string")


def _sections() -> list[type[Section]]:
    found: dict[type[Section], None] = {}

    def visit(annotation: Any) -> None:
        if isinstance(annotation, type) and issubclass(annotation, Section):
            if annotation not in found:
                found[annotation] = None
                for field in annotation.model_fields.values():
                    visit(field.annotation)
            return
        for arg in get_args(annotation):
            visit(arg)

    for model in (ClusterFile, NodeFile):
        for field in model.model_fields.values():
            visit(field.annotation)
    return sorted(found, key=lambda model: model.__name__)


def _section(model: type[Section]) -> str:
    about = f"{model.__doc__}\n\n" if model.__doc__ and model.__doc__ != Section.__doc__ else ""
    return f"### {model.__name__}\n\n{about}{_table(model)}"


def _foreign() -> str:
    prefixes = ", ".join(f"`{prefix}*`" for prefix in FOREIGN_PREFIXES)
    names = ", ".join(f"`{name}`" for name in FOREIGN_NAMES)
    return (
        "## Keys for other tools\n\n"
        "The same files often contain keys for other tools. talops reports them in one note and ignores them: "
        f"{prefixes}, {names}. Add patterns for others to `x_ignore`, like `x_ignore: [my_*]`. Any other unknown key is an error.\n"
    )


def _credentials() -> str:
    names = ", ".join(f"`{name}`" for name in CREDENTIALS)
    return (
        "## Credentials\n\n"
        f"{names} are allowed in `cluster.yaml` only if git ignores that file. Otherwise `talops check` fails; "
        "`talops secrets import` moves them to `infrastructure/secrets.sops.yaml`.\n"
    )
