"""How a resource describes itself: attributes, blocks, and what a change of each one means."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from talops.lab.provider.values import UNKNOWN, Type, Values

if TYPE_CHECKING:
    from collections.abc import Callable

Nesting = Literal["single", "list", "set", "map"]
_NESTING = {"single": 1, "list": 2, "set": 3, "map": 4}


@dataclass(frozen=True)
class Attribute:
    """`elements` says what a list of objects is made of where it is written like a block.

    `keep`: a computed value stays as it was when something else changes. `suppress(old, new)`: this
    difference is none. `check(value)`: what is wrong with it, if anything.
    """

    type: Type = "string"
    required: bool = False
    computed: bool = False
    readonly: bool = False
    default: Any = None
    force_new: bool = False
    keep: bool = False
    sensitive: bool = False
    deprecated: bool = False
    nested: Nested | None = None
    elements: Block | None = None
    suppress: Callable[[Any, Any], bool] | None = None
    check: Callable[[Any], str | None] | None = None

    @property
    def is_computed(self) -> bool:
        return self.computed or self.readonly

    @property
    def is_optional(self) -> bool:
        return not self.required and not self.readonly

    def wire_type(self) -> Type:
        if self.elements is not None:
            return ["list", self.elements.object_type()]
        return self.type


@dataclass(frozen=True)
class Nested:
    """An attribute with attributes of its own (`x = { … }`)."""

    attributes: dict[str, Attribute]
    nesting: Nesting = "single"


@dataclass(frozen=True)
class NestedBlock:
    block: Block
    nesting: Nesting = "list"
    max_items: int = 0
    computed: bool = False
    force_new: bool = False
    suppress: Callable[[Any, Any], bool] | None = None


@dataclass(frozen=True)
class Block:
    attributes: dict[str, Attribute] = field(default_factory=dict)
    blocks: dict[str, NestedBlock] = field(default_factory=dict)
    description: str = ""
    deprecated: bool = False

    def object_type(self) -> Type:
        kinds: dict[str, Type] = {name: item.wire_type() for name, item in self.attributes.items()}
        for name, nested in self.blocks.items():
            kinds[name] = [nested.nesting, nested.block.object_type()]
        return ["object", kinds]


def to_wire(block: Block) -> dict[str, Any]:
    return {"version": 0, "block": _block_to_wire(block)}


def conform(block: Block, values: Values) -> Values:
    """Exactly the attributes of the schema; what is missing is null or empty."""
    out = {name: _conform_value(item, values.get(name)) for name, item in block.attributes.items()}
    for name, nested in block.blocks.items():
        found = values.get(name)
        if found is UNKNOWN:
            out[name] = UNKNOWN
        elif nested.nesting == "single":
            out[name] = None if found is None else conform(nested.block, found)
        else:
            out[name] = [conform(nested.block, item or {}) for item in found or []]
    return out


def _conform_value(item: Attribute, value: Any) -> Any:
    if value is None or value is UNKNOWN:
        return value
    if item.elements is not None:
        return _conform_each(item.elements, value)
    if item.nested is not None:
        inner = Block(item.nested.attributes)
        if item.nested.nesting == "single":
            return conform(inner, value)
        return _conform_each(inner, value)
    return number(value) if item.type == "number" else value


def _conform_each(block: Block, elements: list[Any]) -> list[Any]:
    return [e if e is UNKNOWN else conform(block, e or {}) for e in elements]


def number(value: Any) -> Any:
    """OpenTofu writes fractions that no float holds exactly as text."""
    if not isinstance(value, str):
        return value
    return float(value) if any(mark in value for mark in ".eE") else int(value)


def _block_to_wire(block: Block) -> dict[str, Any]:
    return {
        "attributes": [_attribute_to_wire(name, item) for name, item in block.attributes.items()],
        "block_types": [
            {
                "type_name": name,
                "block": _block_to_wire(nested.block),
                "nesting": _NESTING[nested.nesting],
                "max_items": nested.max_items,
            }
            for name, nested in block.blocks.items()
        ],
        "description": block.description,
        "deprecated": block.deprecated,
    }


def _attribute_to_wire(name: str, item: Attribute) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": name,
        "required": item.required,
        "optional": item.is_optional,
        "computed": item.is_computed,
        "sensitive": item.sensitive,
        "deprecated": item.deprecated,
    }
    if item.nested is None:
        out["type"] = json.dumps(item.wire_type()).encode()
    else:
        out["nested_type"] = {
            "attributes": [_attribute_to_wire(k, v) for k, v in item.nested.attributes.items()],
            "nesting": _NESTING[item.nested.nesting],
        }
    return out
