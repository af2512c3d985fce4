"""The canonical form of an Image Factory schematic, which the factory hashes to its id."""

from __future__ import annotations

from typing import Any

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.patches.fields import unknown_keys, wrong_kinds
from talops.machineconfig.schema.types import (
    FLAG,
    FREE,
    NUMBER,
    TEXT,
    TEXTS,
    ListOf,
    Struct,
    Type,
    struct,
)

# In the order in which the factory writes and hashes them.
_META = struct(key=NUMBER, value=TEXT)
_OVERLAY = struct(image=TEXT, name=TEXT, options=FREE)
_CUSTOMIZATION = struct(
    embeddedMachineConfiguration=TEXT,
    extraKernelArgs=TEXTS,
    meta=ListOf(_META),
    systemExtensions=struct(officialExtensions=TEXTS),
    bootloader=TEXT,
    secureboot=struct(enrollKeys=TEXT, includeWellKnownCertificates=FLAG),
    diskImage=struct(sectorSize=NUMBER),
)
_SCHEMATIC = struct(owner=TEXT, overlay=_OVERLAY, customization=_CUSTOMIZATION)
# Written even if empty.
_ALWAYS = {id(_META): ("key", "value"), id(_OVERLAY): ("image", "name")}
_DEFAULTS: dict[Any, Any] = {TEXT: "", NUMBER: 0}


def canonical(data: Any, *, where: str = "schematic") -> str:
    """The canonical YAML of a schematic, whose hash is its id."""
    if not isinstance(data, dict):
        raise TalopsError("a schematic must be a mapping", where=where)
    unknown = unknown_keys(data, _SCHEMATIC)
    if unknown:
        raise TalopsError(
            f"the Image Factory does not support field {unknown[0]}",
            where=where,
            hint=f"supported in customization: {', '.join(_CUSTOMIZATION.fields)} in customization",
        )
    wrong = list(wrong_kinds(data, _SCHEMATIC))
    if wrong:
        raise TalopsError("; ".join(wrong), where=where)
    compact = _compact(data, _SCHEMATIC)
    compact.setdefault("customization", {})  # always written, even if empty
    return yamltext.dump(compact)


def _compact(value: Any, kind: Type | None) -> Any:
    """Fields in order, without empty ones."""
    if isinstance(kind, ListOf):
        return [_compact(item, kind.item) for item in value]
    if not isinstance(kind, Struct):
        return value
    always = _ALWAYS.get(id(kind), ())
    fields: dict[str, Any] = {}
    for name, inner in kind.fields.items():
        given = value.get(name)
        item = None if given is None else _compact(given, inner)
        if item not in (None, "", 0, False, [], {}):
            fields[name] = item
        elif name in always and any(value.values()):
            fields[name] = _DEFAULTS[inner] if item is None else item
    return fields
