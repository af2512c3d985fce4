"""Plain data ⇄ YAML text: a fast writer in the format of talosctl, and a reader of Go's dialect."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Iterable

_INDENT = "    "
# Larger than any config; a larger file or expansion of aliases is a mistake or an attack.
MOST_CHARACTERS = 8 * 1024 * 1024
MOST_VALUES = 200_000
# A string that Go's YAML would parse as another type. Go quotes these, and the Image Factory
# hashes its output, so the writer must do the same. The last two are ambiguous for other parsers
# only.
_LOOKALIKE = re.compile(
    r"""
      [-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)
    | [-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?
    | [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?
    | [-+]?\.(inf|Inf|INF) | \.(nan|NaN|NAN)
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt\ ].*)?
    | y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF
    | true|True|TRUE|false|False|FALSE|null|Null|NULL|~|
    | =|<<
    """,
    flags=re.VERBOSE,
)
# Strings that require quotes: a leading indicator, `: ` or ` #`.
_NOT_PLAIN = re.compile(r"^([#,\[\]{}&*!|>'\"%@` ]|[-?:](\s|$)|---|\.\.\.)|:(\s|$)|\s#|\s$")
# Printable in JSON, but not in YAML.
_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


def _quoted(text: str) -> str:
    return _ESCAPED.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(text, ensure_ascii=False))


@lru_cache(maxsize=4096)
def _scalar_text(text: str) -> str:
    if _LOOKALIKE.fullmatch(text) or not text.isprintable():
        return _quoted(text)
    if _NOT_PLAIN.search(text):
        return "'" + text.replace("'", "''") + "'"
    return text


def _block(text: str, indent: str) -> str | None:
    """Multi-line text in block style, if possible without loss."""
    lines = text.split("\n")
    if text.startswith((" ", "\n")) or text.endswith("\n\n"):
        return None
    if any(line != line.rstrip() or not line.isprintable() for line in lines):
        return None
    mark = "|" if lines[-1] == "" else "|-"
    body = lines[:-1] if lines[-1] == "" else lines
    return "\n".join([mark, *(indent + line if line else "" for line in body)])


def _scalar(value: Any, indent: str) -> str:
    if isinstance(value, str):
        return (("\n" in value and _block(value, indent)) or None) or _scalar_text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise TypeError(f"cannot write as YAML: {type(value).__name__}")


def _write(out: list[str], value: Any, indent: str, lead: str) -> None:
    """Append `value`; `lead` is the text before its first line (`key:` or `-`)."""
    if isinstance(value, dict) and value:
        _write_map(out, value, indent, lead)
    elif isinstance(value, (list, tuple)) and value:
        if lead:
            out.append(lead)
        for item in value:
            _write(out, item, indent + _INDENT, f"{indent}-")
    else:
        empty = (
            "{}" if isinstance(value, dict) else "[]" if isinstance(value, (list, tuple)) else ""
        )
        text = empty or _scalar(value, indent)
        out.append(f"{lead} {text}" if lead else text)


def _write_map(out: list[str], value: dict[str, Any], indent: str, lead: str) -> None:
    in_list = lead.endswith("-")
    if lead and not in_list:
        out.append(lead)
    # The keys of a list item are indented by two columns.
    inner = lead[:-1] + "  " if in_list else indent
    for number, (key, item) in enumerate(value.items()):
        start = f"{lead} " if in_list and number == 0 else inner
        _write(out, item, inner + _INDENT, f"{start}{_scalar_text(str(key))}:")


def dump(document: Any) -> str:
    out: list[str] = []
    _write(out, document, "", "")
    return "\n".join(out) + "\n"


def dump_all(documents: Iterable[Any]) -> str:
    return "---\n".join(dump(document) for document in documents)


class _GoConstructor(SafeConstructor):
    """Scalars as Talos parses them: 0644 is octal, a date stays a string."""

    def construct_yaml_int(self, node: Any) -> int:
        text = self.construct_scalar(node).replace("_", "")
        if re.fullmatch(r"[-+]?0[0-7]+", text):
            return int(text, 8)
        return int(super().construct_yaml_int(node))

    def construct_text(self, node: Any) -> str:
        return str(self.construct_scalar(node))


_GoConstructor.add_constructor("tag:yaml.org,2002:int", _GoConstructor.construct_yaml_int)
_GoConstructor.add_constructor("tag:yaml.org,2002:timestamp", _GoConstructor.construct_text)


def load_all(text: str, *, where: str) -> list[Any]:
    """Every document of the text, without empty ones."""
    if len(text) > MOST_CHARACTERS:
        raise TalopsError(f"the text is larger than {MOST_CHARACTERS >> 20} MiB", where=where)
    try:
        documents = _read_carefully(text)
        _refuse_bombs(documents, where)
    except RecursionError:
        raise TalopsError("the text is nested too deeply", where=where) from None
    except (YAMLError, ValueError) as error:
        mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise TalopsError(f"not valid YAML: {_problem(error)}", where=place) from None
    return documents


def _read_carefully(text: str) -> list[Any]:
    try:
        return _read(text, pure=False)
    except (YAMLError, ValueError):
        # The fast parser rejects `[https://…]`; then the complete parser is used.
        return _read(text, pure=True)


def _refuse_bombs(documents: list[Any], where: str) -> None:
    """Count values with aliases expanded, and stop at the limit."""
    waiting: list[Any] = list(documents)
    seen = 0
    while waiting:
        value = waiting.pop()
        seen += 1
        if seen > MOST_VALUES:
            raise TalopsError(
                f"contains more than {MOST_VALUES} values, including aliases", where=where
            )
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _problem(error: Exception) -> str:
    """The problem without the surrounding text, because lines contain keys."""
    problem = str(getattr(error, "problem", None) or "not readable")
    return problem.split(" with value", maxsplit=1)[0]


def _read(text: str, *, pure: bool) -> list[Any]:
    reader = YAML(typ="safe", pure=pure)
    reader.Constructor = _GoConstructor
    return [document for document in reader.load_all(text) if document is not None]


def load(text: str, *, where: str) -> Any:
    documents = load_all(text, where=where)
    if len(documents) != 1:
        raise TalopsError(f"expected one YAML document, found {len(documents)}", where=where)
    return documents[0]
