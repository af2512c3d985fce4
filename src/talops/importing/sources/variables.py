"""Environment variables in a text, as `envsubst` of talhelper replaces them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Mapping

_USE = re.compile(
    r"\$\$|\$(?:\{(?P<name>[A-Za-z_]\w*)(?:(?P<operator>:?[-=+])(?P<word>[^}]*))?\}|(?P<bare>[A-Za-z_]\w*))"
)
_COMMENT = re.compile(r"(^|\s)#.*$")


def substitute(text: str, variables: Mapping[str, str], where: str) -> str:
    """A variable that is not set, or empty, is an error with its line; comments are left alone."""
    lines = text.split("\n")
    return "\n".join(_line(line, variables, f"{where}:{n}") for n, line in enumerate(lines, 1))


def parse_variables(text: str) -> dict[str, str]:
    """`NAME: value` or `NAME=value`, as dotenv files and talenv.yaml have them."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        given = re.fullmatch(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*[:=]\s*(.*?)\s*", line)
        if given and given[1] != "sops":
            found[given[1]] = _unquoted(given[2])
    return found


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text.partition(" #")[0].rstrip()


def _line(line: str, variables: Mapping[str, str], where: str) -> str:
    if "$" not in line or line.lstrip().startswith("#"):
        return line
    comment = _COMMENT.search(line)
    kept = line[comment.start() :] if comment and '"' not in line and "'" not in line else ""
    body = line[: len(line) - len(kept)] if kept else line

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        name = match["name"] or match["bare"]
        given, operator, word = variables.get(name), match["operator"] or "", match["word"] or ""
        lacking = not given if operator.startswith(":") else given is None
        if operator.endswith("+"):
            return "" if lacking else word
        if operator:
            return word if lacking else given or ""
        if not given:
            raise TalopsError(
                f"the variable {name} is not set, or empty",
                where=where,
                hint="add it to talenv.yaml of the source",
            )
        return given

    return _USE.sub(value, body) + kept
