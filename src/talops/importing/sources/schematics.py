"""Ids of schematics that another tool writes out, without asking a factory."""

from __future__ import annotations

from typing import Any

from talops.inventory.schematics import EMPTY, identify
from talops.machineconfig.schematic import canonical


def id_of(schematic: Any, where: str) -> str:
    """The id that the factory computes; the empty schematic without one."""
    return identify(canonical(schematic, where=where)) if schematic else EMPTY


def only_extensions(schematic: Any) -> list[str] | None:
    """If the schematic lists official extensions and nothing else: those."""
    if not isinstance(schematic, dict) or set(schematic) != {"customization"}:
        return None
    given = schematic["customization"]
    if not isinstance(given, dict) or set(given) != {"systemExtensions"}:
        return None
    inner = given["systemExtensions"]
    if not isinstance(inner, dict) or set(inner) != {"officialExtensions"}:
        return None
    names = inner["officialExtensions"]
    return [str(name) for name in names] if isinstance(names, list) and names else None
