"""From bytes to a machine config, or Talos' error."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from talops.lab.talos.config.document import Document, MachineConfig
from talops.lab.talos.config.known_keys import V1ALPHA1, Known, documents

if TYPE_CHECKING:
    from collections.abc import Mapping


class BadConfigError(Exception):
    """The text is Talos' error with InvalidArgument."""


def decode(raw: bytes, *, minor: int) -> MachineConfig:
    """`minor` is the Talos version of the node: newer documents are unknown to older nodes."""
    found = _load(raw)
    known = documents(minor)
    seen: set[tuple[str, str, str]] = set()
    for index, document in enumerate(found):
        _check_document(document, known, seen, _Place(raw, index))
    return MachineConfig(raw, tuple(found))


def _load(raw: bytes) -> list[Document]:
    try:
        found = _documents(raw)
    except MarkedYAMLError as error:
        raise BadConfigError(f"decode error: yaml: {_go_text(error)}") from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise BadConfigError(f"decode error: yaml: {error}") from error
    if any(not isinstance(item, dict) for item in found if item is not None):
        raise BadConfigError("decode error: yaml: expected a mapping at the top of each document")
    return [item for item in found if item]


def _documents(raw: bytes) -> list[Any]:
    """Uses the fast parser; it fails on colons inside brackets, which the slow one accepts."""
    try:
        return list(YAML(typ="safe").load_all(io.BytesIO(raw)))
    except MarkedYAMLError:
        return list(YAML(typ="safe", pure=True).load_all(io.BytesIO(raw)))


# The texts of Go's YAML parser.
_GO_PROBLEMS = {
    "expected the node content": "did not find expected node content",
    "expected <block end>": "did not find expected key",
    "expected ',' or": "did not find expected ',' or ']'",
    "mapping values are not allowed": "mapping values are not allowed in this context",
}


def _go_text(error: MarkedYAMLError) -> str:
    problem = str(error.problem)
    said = next((go for own, go in _GO_PROBLEMS.items() if problem.startswith(own)), problem)
    at = error.problem_mark
    place = f"line {_line(at.line)}, column {at.column + 1}" if at else "line 1"
    if error.context is None or error.context_mark is None:
        return f"{place}: {said}"
    begun = error.context_mark.line
    context = f"{error.context} at line {_line(begun)}"
    return f"{context}: {said}" if at and at.line == begun else f"{context}: {place}: {said}"


def _line(counted_from_zero: int) -> int:
    """It counts from zero, and zero means unknown."""
    return max(counted_from_zero, 1)


class _Place:
    """The line of a document, looked up only for an error."""

    def __init__(self, raw: bytes, index: int) -> None:
        self._raw = raw
        self._index = index

    def __str__(self) -> str:
        nodes = [n for n in YAML(typ="safe", pure=True).compose_all(io.BytesIO(self._raw)) if n]
        return f"(line {nodes[self._index].start_mark.line + 1})"


def _check_document(
    document: Document, known: Mapping[str, Known], seen: set[tuple[str, str, str]], place: _Place
) -> None:
    kind = str(document.get("kind", ""))
    version = str(document.get("apiVersion", "") if kind else "v1alpha1")
    name = str(document.get("name", "")) if kind else ""
    label = f"{version}/{kind}/{name}" if kind else "/v1alpha1/"
    if kind and kind not in known:
        raise BadConfigError(
            f'error decoding document {label} {place}: "{kind}" "{version}": not registered'
        )
    if (version, kind, name) in seen:
        raise BadConfigError(f"duplicate document {label} is not allowed {place}")
    seen.add((version, kind, name))
    unknown = _unknown(document, known[kind] if kind else V1ALPHA1)
    if unknown:
        raise BadConfigError(
            f"error decoding document {label} {place}: unknown keys found during decoding:\n"
            f"{_yaml(unknown)}"
        )


def _unknown(content: Mapping[str, Any], known: Known) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            found[key] = value
            continue
        below = known[key]
        if below is not None and isinstance(value, dict):
            deeper = _unknown(value, below)
            if deeper:
                found[key] = deeper
    return found


def _yaml(content: Mapping[str, Any]) -> str:
    return to_yaml(content)


def to_yaml(content: Any) -> str:
    """Block style with Go's indentation of four."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.indent = 4
    stream = io.StringIO()
    yaml.dump(content, stream)
    return stream.getvalue()
