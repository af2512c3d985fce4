"""Functions of Go templates that patches use; none of them makes a text without a limit."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# More than any config: a value can double with each action.
MOST_CHARACTERS = 4 << 20
_WIDTH = re.compile(r"%[^a-zA-Z%]*(?:\*|[0-9]{3,})")


def _require_small(size: int) -> None:
    """Before a text is made: the memory is that of the user."""
    if size > MOST_CHARACTERS:
        raise ValueError("too large")


def _indent(width: int, text: str) -> str:
    _require_small(width * (str(text).count("\n") + 1))
    return "\n".join(" " * width + line for line in str(text).split("\n"))


def _printf(form: str, values: tuple[Any, ...]) -> str:
    if _WIDTH.search(form):
        raise ValueError("too wide")
    texts = [value if isinstance(value, int) else str(value) for value in values]
    _require_small(sum(len(text) for text in texts if isinstance(text, str)))
    return form.replace("%v", "%s") % tuple(texts)


def _replaced(old: str, new: str, value: Any) -> str:
    text = str(value)
    _require_small(text.count(old) * len(new))
    return text.replace(old, new)


def _joined(between: str, values: Any) -> str:
    texts = [str(value) for value in values]
    _require_small(len(texts) * len(between))
    return between.join(texts)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "eq": lambda first, *others: any(first == other for other in others),
    "ne": lambda first, other: first != other,
    "lt": lambda first, other: first < other,
    "gt": lambda first, other: first > other,
    "le": lambda first, other: first <= other,
    "ge": lambda first, other: first >= other,
    "and": lambda *values: next((v for v in values if not v), values[-1]),
    "or": lambda *values: next((v for v in values if v), values[-1]),
    "not": lambda value: not value,
    "len": len,
    "index": lambda value, *keys: _index(value, keys),
    "quote": lambda value: json.dumps(str(value)),
    "squote": lambda value: f"'{value}'",
    "upper": lambda value: str(value).upper(),
    "lower": lambda value: str(value).lower(),
    "trim": lambda value: str(value).strip(),
    "default": lambda fallback, value=None: value or fallback,
    "toString": str,
    "toJson": json.dumps,
    "indent": _indent,
    "nindent": lambda width, text: "\n" + _indent(width, text),
    "contains": lambda part, value: part in value,
    "hasPrefix": lambda part, value: str(value).startswith(part),
    "hasSuffix": lambda part, value: str(value).endswith(part),
    "trimPrefix": lambda part, value: str(value).removeprefix(part),
    "trimSuffix": lambda part, value: str(value).removesuffix(part),
    "replace": _replaced,
    "join": _joined,
    "add": lambda *values: sum(values),
    "hasKey": lambda value, key: key in value,
    "printf": lambda form, *values: _printf(form, values),
    # The environment of the user is not part of the source.
    "env": lambda _name: "",
}


def _index(value: Any, keys: tuple[Any, ...]) -> Any:
    for key in keys:
        value = value[key]
    return value
