"""A file of the inventory as others may read it: without patches, and without secret values.

Inline patches hold what nothing else in the inventory may: passwords of registries, keys of
WireGuard. A file that is not valid YAML keeps its keys only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from talops.inventory.source import tree_of
from talops.redaction import MASK, Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PATCHES = frozenset({"patches", "controller_patches", "worker_patches"})
_FILE_NAME = re.compile(r"[\w./-]+\.(?:ya?ml|json)")
_SECRET = re.compile(
    r"secret|passw|passphrase|token|credential|^auth$|^psk$|\w(?<!public)(?<!public_)keys?$",
    re.IGNORECASE,
)
# What names a secret, or says where it is.
_NO_SECRET = re.compile(r"(?:names?|refs?|ids?|files?|path|type|size)$", re.IGNORECASE)
_BREAK = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_COMMENT = re.compile(r"(?:^|(?<=\s))#")
_KEY = re.compile(r"(\s*(?:- +)*[\w.\"'/-]+ *:)(\s*\S)?")


@dataclass(frozen=True)
class Excerpt:
    """`secrets`: values that were left out, named after the file; they may be elsewhere, too."""

    text: str
    secrets: dict[str, Secret] = field(default_factory=dict)


def excerpt(name: str, text: str) -> Excerpt:
    """The same lines, so that `file:line` of an error still leads to its place."""
    tree = tree_of(text)
    if tree is None:
        return Excerpt(_keys_only(text))
    lines = _Lines(text)
    scalars = [lines.span(node) for node in _all(tree) if isinstance(node, ScalarNode)]
    lines.mask([lines.span(node) for node in _hidden(tree)])
    lines.mask_comments(scalars)
    return Excerpt(lines.text(), secrets_in(name, text))


def secrets_in(name: str, text: str) -> dict[str, Secret]:
    """The values of secret-looking keys in a document, such as a patch file."""
    found = dict.fromkeys(_secret_values(tree_of(text)))
    return {f"{name} ({number})": Secret(value) for number, value in enumerate(found, start=1)}


def patch_files(text: str) -> Iterator[str]:
    """The names of the patch files that a file of the inventory lists."""
    for key, value in _pairs(tree_of(text)):
        if key in PATCHES and isinstance(value, SequenceNode):
            names = (str(item.value) for item in value.value if isinstance(item, ScalarNode))
            yield from filter(_FILE_NAME.fullmatch, names)


def is_secret_key(key: str) -> bool:
    return bool(_SECRET.search(key)) and not _NO_SECRET.search(key)


def _all(tree: Any) -> Iterator[Any]:
    """Each node once, although aliases may lead back to it."""
    seen, left = set[int](), [tree]
    while left:
        node = left.pop()
        if id(node) in seen or node is None:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, SequenceNode):
            left += node.value
        elif isinstance(node, MappingNode):
            left += [part for pair in node.value for part in pair]


def _pairs(tree: Any) -> Iterator[tuple[str, Any]]:
    for node in _all(tree):
        if isinstance(node, MappingNode):
            for key, value in node.value:
                yield (str(key.value) if isinstance(key, ScalarNode) else ""), value


def _keys_of(node: Any) -> list[Any]:
    return [key for key, _ in node.value] if isinstance(node, MappingNode) else []


def _hidden(tree: Any) -> Iterator[Any]:
    for key, value in _pairs(tree):
        if key in PATCHES:
            yield from _inline(value)
        elif is_secret_key(key):
            yield value


def _inline(value: Any) -> Iterator[Any]:
    """Everything but the names of files."""
    for item in value.value if isinstance(value, SequenceNode) else [value]:
        if not (isinstance(item, ScalarNode) and _FILE_NAME.fullmatch(str(item.value))):
            yield item


def _secret_values(tree: Any) -> Iterator[str]:
    for key, value in _pairs(tree):
        if is_secret_key(key):
            keys = {id(part) for n in _all(value) for part in _keys_of(n)}
            inner = (n for n in _all(value) if isinstance(n, ScalarNode) and id(n) not in keys)
            yield from (str(node.value) for node in inner)
    for node in _all(tree):  # patches that are written as strings
        if isinstance(node, ScalarNode) and "\n" in str(node.value):
            inner = tree_of(str(node.value))
            if not isinstance(inner, ScalarNode):
                yield from _secret_values(inner)


def _keys_only(text: str) -> str:
    """Without its structure, no value is known to be harmless."""
    lines = []
    for line in _BREAK.split(text):
        found = _KEY.match(line)
        kept = found[1] if found else ""
        more = bool(found[2]) if found else bool(line.strip())
        lines.append(f"{kept} {MASK}".strip("\n") if more else kept)
    return "\n".join(lines)


class _Lines:
    """A text that is masked by the positions of its nodes; each line keeps its number."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in _BREAK.finditer(text)), len(text)]
        self._text = text
        self._letters = list(text)

    def text(self) -> str:
        return "".join(self._letters)

    def span(self, node: Any) -> tuple[int, int]:
        """Without the white space at its end, which belongs to what follows."""
        begin, end = self._offset(node.start_mark), self._offset(node.end_mark)
        return begin, begin + len(self._text[begin:end].rstrip())

    def mask(self, spans: Iterable[tuple[int, int]]) -> None:
        done = 0
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            if begin < end and end > done:
                self._drop(begin, end)
                self._letters[begin] = MASK
                done = end

    def mask_comments(self, scalars: Sequence[tuple[int, int]]) -> None:
        """A comment may hold what its line held before."""
        taken = [False] * len(self._letters)
        for begin, end in scalars:
            taken[begin:end] = [True] * (end - begin)
        for begin, end in pairwise(self._starts):
            for found in _COMMENT.finditer(self._text[begin:end]):
                if not taken[begin + found.start()]:
                    self._drop(begin + found.end(), end)
                    break

    def _drop(self, begin: int, end: int) -> None:
        for place in range(begin, end):
            if not _BREAK.match(self._letters[place]):
                self._letters[place] = ""

    def _offset(self, mark: Any) -> int:
        line, column = int(mark.line), int(mark.column)
        return min(self._starts[min(line, len(self._starts) - 1)] + column, len(self._text))
