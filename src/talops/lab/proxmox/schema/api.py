"""Proxmox' description of its API, as data: parameters, formats of strings, permissions.

`api.json` was taken from the API schema that Proxmox VE 9 publishes, without its texts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from talops.lab.proxmox.schema.params import Properties, Property

KEYS = {"minLength": "shortest", "maxLength": "longest", "keyAlias": "key_alias"}


@dataclass(frozen=True)
class Method:
    """`check` is "all", "world" (no login), or an expression that `checks.py` reads."""

    properties: Properties
    check: Any


@cache
def document() -> dict[str, Any]:
    text = files(__package__).joinpath("api.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def method(name: str) -> Method:
    """`GET /nodes/{node}/qemu`; a parameter named `*` brings in a group of parameters."""
    entry = document()["methods"][name]
    named = dict(entry["parameters"])
    group = named.pop("*", "")
    return Method(_properties({**group_of(group), **named}), entry["check"])


def group_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = document()["groups"][name] if name else {}
    return found


@cache
def string_format(name: str) -> Properties | None:
    """The keys of a property string, if that format is one."""
    found = document()["formats"].get(name)
    return _properties(found) if found else None


@cache
def vm_options() -> Properties:
    """All keys that a VM's configuration may have."""
    return _properties(group_of("vm-config"))


def cpu_models() -> frozenset[str]:
    return frozenset(document()["cpu-models"])


def cpu_flags() -> list[str]:
    found: list[str] = document()["cpu-flags"]
    return found


def _properties(entries: dict[str, Any]) -> Properties:
    return Properties(
        {name: _property(entry) for name, entry in entries.items()}, document()["limits"]
    )


def _property(entry: dict[str, Any]) -> Property:
    given = {KEYS.get(key, key): value for key, value in entry.items()}
    if "enum" in given:
        given["enum"] = tuple(given["enum"])
    if "items" in given:
        given["items"] = _property(given["items"])
    return Property(**given)
