"""Plain values → HCL, formatted like `tofu fmt`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def text(value: str) -> str:
    """A quoted string; `${` and `%{` would otherwise be evaluated."""
    escaped = "".join(_ESCAPES.get(char, char) for char in value)
    return '"' + escaped.replace("${", "$${").replace("%{", "%%{") + '"'


def literal(value: Any, indent: int = 0) -> str:  # noqa: PLR0911  (one case per kind of value)
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case Mapping():
            return _object(value, indent)
        case str():
            return text(value)
        case Sequence():
            return _list(value, indent)
        case _:
            return text(str(value))


def _object(value: Mapping[Any, Any], indent: int) -> str:
    if not value:
        return "{}"
    rows = assignments({_key(str(k)): v for k, v in value.items()}, indent + 2)
    return "{\n" + rows + "\n" + " " * indent + "}"


def _key(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) and "-" not in name else text(name)


def _list(value: Sequence[Any], indent: int) -> str:
    items = [literal(item, indent + 2) for item in value]
    if not any("\n" in item for item in items):
        return "[" + ", ".join(items) + "]"
    pad = " " * (indent + 2)
    return "[\n" + "".join(f"{pad}{item},\n" for item in items) + " " * indent + "]"


def assignments(values: Mapping[str, Any], indent: int = 0) -> str:
    """`key = value` lines; adjacent single-line values have their `=` aligned."""
    rows = [(key, literal(value, indent)) for key, value in values.items()]
    widths = _widths(rows)
    pad = " " * indent
    return "\n".join(f"{pad}{key:<{w}} = {v}" for (key, v), w in zip(rows, widths, strict=True))


def _widths(rows: list[tuple[str, str]]) -> list[int]:
    widths = [0] * len(rows)
    group: list[int] = []
    for index, (_, value) in enumerate([*rows, ("", "\n")]):
        if "\n" not in value:
            group.append(index)
            continue
        widest = max((len(rows[i][0]) for i in group), default=0)
        for i in group:
            widths[i] = widest
        group = []
    return widths
