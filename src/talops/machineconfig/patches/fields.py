"""Unknown fields, and values of the wrong type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.schema.types import (
    ListOf,
    MapOf,
    Scalar,
    Special,
    Struct,
    ZeroValued,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.machineconfig.schema.types import Type

_PAIR = Struct({"crt": Scalar.TEXT, "key": Scalar.TEXT})


def unknown_keys(value: Any, kind: Type) -> list[str]:
    """Dotted paths of every key that the strict decoder of Talos rejects."""
    return list(_unknown(value, kind, ""))


def _unknown(value: Any, kind: Type, path: str) -> Iterator[str]:
    kind = _PAIR if kind is Special.PAIR else kind
    if isinstance(kind, Struct) and isinstance(value, dict):
        for key, item in value.items():
            place = f"{path}.{key}" if path else str(key)
            if key in kind.fields:
                yield from _unknown(item, kind.fields[key], place)
            else:
                yield place
    elif isinstance(kind, MapOf) and isinstance(value, dict):
        for key, item in value.items():
            yield from _unknown(item, kind.value, f"{path}.{key}")
    elif isinstance(kind, ListOf) and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unknown(item, kind.item, f"{path}[{number}]")


def wrong_kinds(value: Any, kind: Type, path: str = "") -> Iterator[str]:
    """`path: expected type`, for every value of the wrong type."""
    kind = _PAIR if kind is Special.PAIR else kind
    kind = Scalar.ANY if isinstance(kind, ZeroValued) else kind
    if value is None:
        return
    if isinstance(kind, Special):
        if not isinstance(value, dict):
            yield f"{path}: expected a mapping"
    elif isinstance(kind, Scalar):
        if not _fits(value, kind):
            yield f"{path}: expected {_EXPECTED[kind]}"
    elif isinstance(kind, ListOf):
        yield from _wrong_items(value, kind, path)
    elif isinstance(kind, (Struct, MapOf)):
        yield from _wrong_fields(value, kind, path)


def _wrong_items(value: Any, kind: ListOf, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected a list"
        return
    for place, item in enumerate(value):
        if item is None:
            yield f"{path}[{place}]: the value is empty"
        yield from wrong_kinds(item, kind.item, f"{path}[{place}]")


def _wrong_fields(value: Any, kind: Struct | MapOf, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: expected a mapping"
        return
    for key, item in value.items():
        inner = kind.value if isinstance(kind, MapOf) else kind.fields.get(key)
        if inner is not None:
            yield from wrong_kinds(item, inner, f"{path}.{key}" if path else str(key))


_TEXTS = frozenset({Scalar.TEXT, Scalar.BYTES})
_NO_TEXTS = frozenset({Scalar.NUMBER, Scalar.COUNT})
_NUMBERS = _NO_TEXTS | {Scalar.ANY, Scalar.LAST, Scalar.SIZE}
_EXPECTED = {
    Scalar.TEXT: "a text (quote it)",
    Scalar.NUMBER: "a whole number",
    Scalar.COUNT: "a whole number",
    Scalar.FLAG: "true or false",
    Scalar.SWITCH: "true or false",
    Scalar.ANY: "a text or a number",
    Scalar.LAST: "a text or a number",
    Scalar.SIZE: "a text or a number",
    Scalar.BYTES: "a text (quote it)",
}


def _fits(value: Any, kind: Scalar) -> bool:
    if isinstance(value, bool):
        return kind in {Scalar.FLAG, Scalar.SWITCH}
    if isinstance(value, (int, float)):
        # Talos accepts a bare number as a string, but YAML parsing loses the zero of 1.30.
        return kind in _NUMBERS or (kind in _TEXTS and isinstance(value, int))
    return isinstance(value, str) and (kind in _TEXTS or kind in _NUMBERS - _NO_TEXTS)
