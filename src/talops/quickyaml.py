"""Plain data from YAML text: by the C parser, or by the Python parser if the C parser fails.

The C parser is about ten times faster and reads every scalar the same way, but it does not support
all of YAML 1.2, such as `[https://…]`. If it fails, the Python parser decides and reports errors.
Whatever the text is, only YAMLError is raised: both parsers read nested lists and expand merges
without a limit of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, SequenceNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ruamel.yaml.nodes import Node

T = TypeVar("T")

# Schemas of custom resources have about 60 levels; an alias adds none.
MAX_DEPTH = 400
# No file has this many keys by merges; one that merges merges has any number.
MAX_MERGED = 50_000
# The Python parser needs ten seconds for this size.
SLOW_CHARACTERS = 2_000_000
# What the constructors of both parsers raise for scalars and keys that they cannot convert.
_SLIPS = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError)
_FLOW = re.compile(r"[\[\]{}]")
_MERGE = re.compile(r"<<|!!merge|yaml\.org,2002:merge|%TAG")


def load(text: str) -> Any:
    """Parse text with one document; raises YAMLError."""
    return _read(text, lambda yaml: yaml.load(text))


def load_all(text: str) -> list[Any]:
    """Parse all documents of the text, including empty ones; raises YAMLError."""
    return _read(text, lambda yaml: list(yaml.load_all(text)))


def deepest(text: str, limit: int) -> tuple[int, int] | None:
    """Line and column where lists and mappings are nested deeper than `limit`."""
    return _deepest_flow(text, limit) or _deepest_block(text, limit)


def _read(text: str, read: Callable[[YAML], T]) -> T:
    try:
        _limit(text)
        return read(YAML(typ="safe", pure=False))
    except RecursionError:
        raise YAMLError("nested too deep") from None
    except (YAMLError, *_SLIPS) as error:
        if isinstance(error, _LimitError) or len(text) > SLOW_CHARACTERS:
            raise YAMLError(str(error)) from None
    return _thorough(read)


def _thorough(read: Callable[[YAML], T]) -> T:
    try:
        return read(YAML(typ="safe", pure=True))
    except RecursionError:
        raise YAMLError("nested too deep") from None
    except _SLIPS as error:
        raise YAMLError(f"a value cannot be read: {error}") from None


class _LimitError(YAMLError):
    pass


def _limit(text: str) -> None:
    if deepest(text, MAX_DEPTH) and _is_deeper(text, MAX_DEPTH):
        raise _LimitError("nested too deep")
    if _MERGE.search(text):
        counted: dict[int, int] = {}
        for root in YAML(typ="safe", pure=False).compose_all(text):
            if root is not None and _merged(root, counted) > MAX_MERGED:
                raise _LimitError("merges in this file expand to too many keys")


def _merged(node: Node, counted: dict[int, int]) -> int:
    """The largest number of keys that a mapping below has after its merges."""
    known = counted.get(id(node))
    if known is not None:
        return known
    counted[id(node)] = 0  # a node that contains itself
    if isinstance(node, MappingNode):
        found = 0
        for key, value in node.value:
            inner = _merged(value, counted)
            found = found + inner if _is_merge(key) else max(found + 1, inner)
    elif isinstance(node, SequenceNode):
        found = sum(_merged(item, counted) for item in node.value)
    else:
        found = 0
    counted[id(node)] = found
    return found


def _is_merge(key: Any) -> bool:
    return key.value == "<<" or str(key.tag).endswith(":merge")


def _deepest_flow(text: str, limit: int) -> tuple[int, int] | None:
    """Brackets in strings and comments count too, so that this is only a guess if it is far off."""
    if text.count("[") + text.count("{") <= limit:
        return None
    depth = 0
    for match in _FLOW.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        if depth > limit:
            before = text[: match.start()]
            return before.count("\n") + 1, match.start() - before.rfind("\n")
        depth = max(depth, 0)
    return None


def _deepest_block(text: str, limit: int) -> tuple[int, int] | None:
    """A collection within another one starts further right; most files have no line so far."""
    if not re.search(rf"^[ \t\-?:]{{{limit},}}", text, re.MULTILINE):
        return None
    return _exceeding(text, limit)


def _is_deeper(text: str, limit: int) -> bool:
    """Exactly; a text that breaks off before its end counts as deeper."""
    try:
        return _exceeding(text, limit) is not None
    except YAMLError:
        return True


def _exceeding(text: str, limit: int) -> tuple[int, int] | None:
    depth = 0
    events: Iterable[Any] = YAML(typ="safe", pure=False).parse(text)
    for event in events:
        depth += isinstance(event, CollectionStartEvent)
        depth -= isinstance(event, CollectionEndEvent)
        if depth > limit:
            return event.start_mark.line + 1, event.start_mark.column + 1
    return None
