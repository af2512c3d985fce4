"""One YAML file → plain values with their positions; safe for any input.

The C parser builds the node tree (quick, with positions); the values are built here, so that
duplicate keys, unknown tags and alias bombs are problems with a position.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from talops import quickyaml
from talops.problems import FileProblem, Position
from talops.visible import CONTROL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 10 * 1024 * 1024
# The slow parser needs a second for this size.
SLOW_BYTES = 200_000
# 1,000 nodes with every key set are about 40,000 values; an alias bomb exceeds this quickly.
MAX_VALUES = 200_000
MAX_DEPTH = 60

Loc = tuple[str | int, ...]

# No number of an inventory has more; longer ones take ages to convert.
MAX_DIGITS = 40

_CORE = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)")


@dataclass
class Document:
    """The values of one file; `keys` and `values` hold the position of each."""

    file: str
    data: Any = None
    keys: dict[Loc, Position] = field(default_factory=dict)
    values: dict[Loc, Position] = field(default_factory=dict)

    def key(self, loc: Loc) -> Position:
        """The position of the key; for a missing key, the nearest value around it."""
        return self.keys.get(loc) or self.value(loc)

    def value(self, loc: Loc) -> Position:
        while loc:
            if found := self.values.get(loc):
                return found
            loc = loc[:-1]
        return self.values.get((), Position(self.file))


class _StopError(Exception):
    def __init__(self, problem: FileProblem) -> None:
        self.problem = problem


def read(path: Path, root: Path) -> tuple[Document, list[FileProblem]]:
    """Read a file below `root`; all errors are returned as problems."""
    try:
        text = _text(path, root)
    except _StopError as stop:
        return Document(path.name), [stop.problem]
    return read_text(text, path.name)


def read_text(text: str, name: str) -> tuple[Document, list[FileProblem]]:
    """The text of a file that was read elsewhere, or does not exist yet."""
    document = Document(name)
    try:
        tree = _compose(text, name)
        builder = _Builder(document)
        document.data = builder.build(tree, ()) if tree is not None else None
    except _StopError as stop:
        return document, [stop.problem]
    return document, builder.problems


def _problem(rule: str, position: Position, what: str, hint: str) -> _StopError:
    return _StopError(FileProblem(rule, position, what, hint))


def _text(path: Path, root: Path) -> str:
    here = Position(path.name)
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root.resolve()):
            raise _problem(
                "outside-tree",
                here,
                f"{path.name} is a symlink to a file outside this directory",
                "replace the symlink with the file",
            )
        if not real.is_file():
            raise _problem(
                "unreadable", here, f"{path.name} is not a file", "replace it with a file"
            )
        if (size := real.stat().st_size) > MAX_BYTES:
            raise _problem(
                "too-large",
                here,
                f"{path.name} has {size / 1e6:.0f} MB; the limit is {MAX_BYTES / 1e6:.0f} MB",
                "keep only cluster and node keys in it",
            )
        raw = real.read_bytes()
    except FileNotFoundError:
        raise _problem("missing-file", here, f"{path.name} does not exist", "talops init") from None
    except OSError as error:
        raise _problem(
            "unreadable",
            here,
            f"cannot read {path.name}: {error.strerror}",
            f"check its permissions: ls -l {path.name}",
        ) from None
    return _decode(raw, path.name)


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise _problem(
            "encoding",
            Position(name, line, column),
            f"byte 0x{raw[error.start]:02x} is not UTF-8",
            "save the file as UTF-8",
        ) from None


def _compose(text: str, name: str) -> Any:
    try:
        if (deepest := quickyaml.deepest(text, MAX_DEPTH)) is not None:
            raise _problem(
                "too-deep",
                Position(name, *deepest),
                f"lists and mappings are nested more than {MAX_DEPTH} levels deep",
                "an inventory needs at most four levels",
            )
        return _parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Position(name, mark.line + 1, mark.column + 1) if mark else Position(name)
        what = ", ".join(part for part in (error.context, error.problem) if part)
        hint = _yaml_hint(str(error.problem))
        raise _problem("yaml", place, f"not valid YAML: {what}", hint) from None
    except (YAMLError, RecursionError) as error:
        what = str(error).splitlines()[0] if str(error) else "nested too deep"
        raise _problem(
            "yaml", Position(name), f"not valid YAML: {what}", "check quotes and indentation"
        ) from None


def tree_of(text: str) -> Any:
    """The nodes of a document with their positions; None if it is not valid YAML."""
    try:
        return _compose(text, "")
    except _StopError:
        return None


def _parse(text: str) -> Any:
    """Use the C parser; if it fails, the slow one, which supports more of YAML 1.2.

    In `{mac: aa:bb:cc:dd:ee:ff}` and `[https://host:1]` the C parser treats colons as separators.
    """
    try:
        return YAML(typ="safe", pure=False).compose(text)
    except MarkedYAMLError:
        if len(text) > SLOW_BYTES:
            raise
        try:
            return YAML(typ="safe", pure=True).compose(text)
        except YAMLError:
            pass
        raise


def _yaml_hint(problem: str) -> str:
    if "another document" in problem:
        return "keep one document per file: remove the second '---'"
    if "cannot start any token" in problem:
        return "indent with spaces, and quote values that start with %, @ or `"
    if "undefined alias" in problem:
        return "define the anchor (&name) before its alias (*name)"
    return "check the indentation and the quotes of this line and the one above"


class _Builder:
    """Node tree → values. Aliases and merges are expanded up to a limit."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[FileProblem] = []
        self._count = 0
        self._merging = 0

    def build(self, node: Any, loc: Loc) -> Any:
        place = self._place(node)
        self._expand(place, len(loc))
        self.document.values[loc] = place
        if isinstance(node, MappingNode):
            return self._mapping(node, loc)
        if isinstance(node, SequenceNode):
            return [self.build(item, (*loc, i)) for i, item in enumerate(node.value)]
        return self._scalar(node, place)

    def _expand(self, place: Position, depth: int) -> None:
        """Count a value that is read, once more for every alias and every merge."""
        self._count += 1
        if self._count > MAX_VALUES or depth + self._merging > MAX_DEPTH:
            raise _problem(
                "alias-bomb",
                place,
                "aliases in this file expand to too many values",
                "write the values instead of repeating them by *alias",
            )

    def _place(self, node: Any) -> Position:
        mark = node.start_mark
        return Position(self.document.file, mark.line + 1, mark.column + 1)

    def _mapping(self, node: MappingNode, loc: Loc) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if isinstance(key_node, ScalarNode) and key_node.tag == _CORE + "merge":
                for part in self._merge_sources(value_node):
                    merged = {**self._merged(part, loc), **merged}
                continue
            if (key := self._key(key_node)) is None:
                continue
            if key in result:
                first = self.document.keys[*loc, key]
                self._add(
                    "duplicate-key",
                    key_node,
                    f"duplicate key {key!r}; first set in line {first.line}",
                    "remove one of the two",
                )
                continue
            self.document.keys[*loc, key] = self._place(key_node)
            result[key] = self.build(value_node, (*loc, key))
        return {**merged, **result}

    def _merged(self, node: MappingNode, loc: Loc) -> dict[str, Any]:
        """A mapping may be merged into itself: then this gets deeper until the limit."""
        self._merging += 1
        self._expand(self._place(node), len(loc))
        found = self._mapping(node, loc)
        self._merging -= 1
        return found

    def _merge_sources(self, node: Any) -> Iterator[MappingNode]:
        parts = node.value if isinstance(node, SequenceNode) else [node]
        for part in parts:
            if isinstance(part, MappingNode):
                yield part
            else:
                self._add("yaml", part, "'<<' merges only mappings", "use the alias of a mapping")

    def _key(self, node: Any) -> str | None:
        if isinstance(node, ScalarNode) and node.tag == _CORE + "str":
            return self._printable(node)
        shown = node.value if isinstance(node, ScalarNode) else "a list or mapping"
        self._add("yaml", node, f"the key {shown} is not a string", "quote it, or remove the line")
        return None

    def _scalar(self, node: Any, place: Position) -> Any:
        text = str(node.value)
        match node.tag.removeprefix(_CORE):
            case "str" | "timestamp":
                return self._printable(node)
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int" | "float" as kind if len(text) <= MAX_DIGITS:
                if kind == "float":
                    return _float(text)
                if _INT.fullmatch(text):
                    return _int(text)
        self._add("yaml", node, *_refused(node, text))
        self.document.values.setdefault((), place)
        return None

    def _printable(self, node: ScalarNode) -> str:
        text = str(node.value)
        if found := CONTROL.search(text):
            what = f"the control character U+{ord(found[0]):04X} in a string"
            self._add("control-character", node, what, "remove it")
            return CONTROL.sub("", text)
        return text

    def _add(self, rule: str, node: Any, what: str, hint: str) -> None:
        self.problems.append(FileProblem(rule, self._place(node), what, hint))


def _refused(node: Any, text: str) -> tuple[str, str]:
    if len(text) > MAX_DIGITS and node.tag in {f"{_CORE}int", f"{_CORE}float"}:
        return f"this number has {len(text)} characters", "quote it if it is a string"
    shown = node.tag.replace(_CORE, "!!")
    return f"unknown tag {shown}", "write a plain string, number, true, false, list or mapping"


def _int(text: str) -> int | str:
    digits = text.replace("_", "")
    for base in (0, 10):  # "007" is 7 in YAML 1.2
        try:
            return int(digits, base)
        except ValueError:
            continue
    return text  # "0x_"


def _float(text: str) -> float | str:
    try:
        return float(text.replace("_", ""))
    except ValueError:  # .inf and .nan: no inventory key accepts them, so keep the string
        return text
