"""Values of a file → typed form; invalid values become problems, the others are kept."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from talops.inventory.fields import kind_of
from talops.inventory.files import ClusterFile, NodeFile
from talops.inventory.keys.foreign import ignored, patterns_of
from talops.inventory.sections import Section
from talops.problems import FileProblem, Severity

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from talops.inventory.locate import Locator
    from talops.inventory.source import Document, Loc

S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class Inventory:
    """Both files, typed. Invalid values are absent, so that every rule can still run."""

    cluster: ClusterFile
    nodes: tuple[NodeFile, ...]
    at: Locator


def parse(at: Locator) -> tuple[Inventory, list[FileProblem]]:
    problems: list[FileProblem] = []
    cluster_data = _cluster_data(at.cluster, problems)
    cluster = _section(ClusterFile, cluster_data, at.cluster, (), problems)
    patterns = patterns_of(at.cluster.data)
    nodes = tuple(
        _section(NodeFile, _own_keys(entry, patterns), at.nodes, ("nodes", index), problems)
        for index, entry in enumerate(_node_entries(at.nodes, problems, patterns))
    )
    return Inventory(cluster, nodes, at), problems


def _cluster_data(document: Document, problems: list[FileProblem]) -> dict[str, Any]:
    data = _mapping(document, problems)
    patterns = patterns_of(data)
    foreign = [
        key for key in data if key not in ClusterFile.model_fields and ignored(key, patterns)
    ]
    if foreign:
        shown = ", ".join(foreign[:4]) + (" …" if len(foreign) > 4 else "")  # noqa: PLR2004
        problems.append(
            FileProblem(
                "foreign-keys",
                document.key((foreign[0],)),
                f"keys for other tools: {shown}",
                "talops ignores them",
                Severity.NOTE,
            )
        )
    return {
        key: _without_foreign(value, f"{key}.", patterns)
        for key, value in data.items()
        if key not in foreign
    }


def _without_foreign(value: Any, place: str, patterns: tuple[str, ...]) -> Any:
    """Sections lose what a pattern with their name matches, like proxmox_vm_advanced.my_*."""
    if not patterns or not isinstance(value, dict):
        return value
    return {
        key: item
        for key, item in value.items()
        if not any(fnmatchcase(f"{place}{key}", pattern) for pattern in patterns)
    }


def _own_keys(entry: Any, patterns: tuple[str, ...]) -> Any:
    """An entry of nodes.yaml without the keys for other programs."""
    if not isinstance(entry, dict):
        return entry
    known = NodeFile.model_fields
    return {k: v for k, v in entry.items() if k in known or not ignored(str(k), patterns)}


def _mapping(document: Document, problems: list[FileProblem]) -> dict[str, Any]:
    if isinstance(document.data, dict):
        return document.data
    if document.data is not None or document.values:
        problems.append(
            FileProblem(
                "type",
                document.value(()),
                f"{document.file} contains {kind_of(document.data)} instead of keys and values",
                "start from a sample: talops init",
            )
        )
    return {}


def _node_entries(
    document: Document, problems: list[FileProblem], patterns: tuple[str, ...]
) -> list[Any]:
    data = _mapping(document, problems)
    unknown = [key for key in data if key != "nodes" and not ignored(key, patterns)]
    problems += [_unknown(document, (key,), ["nodes"]) for key in unknown]
    entries = data.get("nodes", [])
    if isinstance(entries, list):
        return entries
    problems.append(
        FileProblem(
            "type",
            document.value(("nodes",)),
            f"nodes is {kind_of(entries)}, not a list",
            "add one '- name: …' entry per node",
        )
    )
    return []


def _section(
    model: type[S], data: Any, document: Document, base: Loc, problems: list[FileProblem]
) -> S:
    """Validate; remove invalid values and validate again, so that the valid keys remain."""
    if not isinstance(data, dict):
        problems.append(
            FileProblem(
                "type",
                document.value(base),
                f"expected a mapping, got {kind_of(data)}",
                "write keys and values, like name: k8s-1",
            )
        )
        return model()
    # Templates use an empty value for "not set".
    data = {key: value for key, value in data.items() if value not in (None, "")}
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
    problems += [_translate(model, detail, data, document, base) for detail in details]
    refused = {detail["loc"][0] for detail in details}
    return model.model_validate({k: v for k, v in data.items() if k not in refused})


def _translate(
    model: type[Section], detail: ErrorDetails, data: Any, document: Document, base: Loc
) -> FileProblem:
    loc = (*base, *_known_part(detail["loc"], data))
    if detail["type"] == "extra_forbidden":
        return _unknown(document, (*base, *detail["loc"]), _siblings(model, detail["loc"]))
    if detail["type"] == "missing":
        return FileProblem(
            "missing-key",
            document.value((*base, *detail["loc"][:-1])),
            f"{detail['loc'][-1]} is missing",
            f"add {detail['loc'][-1]}: …",
        )
    context = detail.get("ctx", {})
    if "what" in context:
        return FileProblem(
            detail["type"], document.value(loc), _named(loc, context["what"]), context["hint"]
        )
    what, hint = _in_words(detail)
    return FileProblem("type", document.value(loc), _named(loc, what), hint)


def _named(loc: Loc, what: str) -> str:
    key = next((part for part in reversed(loc) if isinstance(part, str)), "")
    return f"{key}: {what}" if key else what


def _known_part(loc: tuple[str | int, ...], data: Any) -> Loc:
    """The part of pydantic's location that exists in the file; pydantic adds union members."""
    kept: list[str | int] = []
    for part in loc:
        inside = isinstance(data, dict) and part in data
        if not inside and not (isinstance(data, list) and isinstance(part, int)):
            continue
        data = data[part]
        kept.append(part)
    return tuple(kept)


def _siblings(model: type[Section], loc: tuple[str | int, ...]) -> list[str]:
    """The keys of the section that contains `loc`, to which pydantic adds union members."""
    sections = [model]
    for part in (str(part) for part in loc[:-1]):
        fields = [each.model_fields[part] for each in sections if part in each.model_fields]
        sections = [s for field in fields for s in _sections_of(field.annotation)] or sections
    return [name for section in sections for name in section.model_fields]


def _sections_of(annotation: Any) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [s for part in getattr(annotation, "__args__", ()) for s in _sections_of(part)]


def _unknown(document: Document, loc: Loc, known: list[str]) -> FileProblem:
    key = str(loc[-1])
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    named = [str(part) for part in loc if part != "nodes" and not isinstance(part, int)]
    other = f"remove it, or ignore it: x_ignore: [{'.'.join(named)}]"
    hint = f"did you mean {close[0]}?" if close else other
    return FileProblem("unknown-key", document.key(loc), f"unknown key {key!r}", hint)


_WORDS = {
    "int_type": "expected an integer",
    "int_from_float": "expected an integer",
    "bool_type": "expected true or false",
    "string_type": "expected a string",
    "list_type": "expected a list",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
}


def _in_words(detail: ErrorDetails) -> tuple[str, str]:
    kind, given, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in _WORDS:
        return f"{_WORDS[kind]}, got {kind_of(given)}", _type_hint(kind, given)
    if kind == "greater_than_equal":
        return f"{given} is too small", f"the minimum is {context['ge']}"
    if kind == "less_than_equal":
        return f"{given} is too large", f"the maximum is {context['le']}"
    if kind == "literal_error":
        return f"{given!r} is not an allowed value", f"choose from {context['expected']}"
    return detail["msg"].lower(), "see: talops schema"


def _meant(given: str) -> str:
    """The boolean behind a word of YAML 1.1; other words do not say which."""
    if given.lower() in {"yes", "on", "y", "true", "1"}:
        return "true"
    return "false" if given.lower() in {"no", "off", "n", "false", "0"} else "true or false"


def _type_hint(kind: str, given: Any) -> str:
    if kind == "bool_type" and isinstance(given, str):
        return f"write {_meant(given)}, without quotes"
    if kind.startswith("int") and isinstance(given, str) and given.isdigit():
        return f"write {given}, without quotes"
    if given is None:
        return "set a value, or remove the key"
    examples = {"list_type": "write one '- item' per line", "string_type": "quote it"}
    return examples.get(kind, "see: talops schema")
