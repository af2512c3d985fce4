"""The part of Go templates that patches use: fields, if, range, with, comparisons."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.importing.sources.gotemplate_functions import FUNCTIONS, MOST_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Mapping

_ACTION = re.compile(r"(\s*)\{\{(-\s)?\s*(.*?)\s*(\s-)?\}\}(\s*)", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|\(|\)|\||:=|,|[^\s()|,]+')
_MOST_STEPS = 100_000


@dataclass(frozen=True)
class _Part:
    """A text, or an action with its line."""

    text: str
    line: int
    action: bool


def render(text: str, data: Mapping[str, Any], where: str) -> str:
    """Raises with the line of the first action that is not supported, or names no value."""
    if "{{" not in text:
        return text
    parts = _split(text)
    machine = _Machine(dict(data), where)
    try:
        place, out = machine.block(parts, 0, data, {})
    except RecursionError:
        raise TalopsError("the template is nested too deeply", where=where) from None
    if place != len(parts):
        raise machine.unsupported(parts[place])
    return "".join(out)


def _split(text: str) -> list[_Part]:
    parts, end, trim = [], 0, False
    for found in re.finditer(r"\{\{(-(?=\s))?(.*?)((?<=\s)-)?\}\}", text, re.DOTALL):
        before = text[end : found.start()]
        before = before.lstrip() if trim else before
        parts.append(_Part(before.rstrip() if found[1] else before, 0, action=False))
        line = text.count("\n", 0, found.start()) + 1
        parts.append(_Part(found[2].strip(), line, action=True))
        end, trim = found.end(), bool(found[3])
    rest = text[end:]
    parts.append(_Part(rest.lstrip() if trim else rest, 0, action=False))
    return [part for part in parts if part.action or part.text]


class _Machine:
    def __init__(self, root: Mapping[str, Any], where: str) -> None:
        self._root = root
        self._where = where
        self._steps = 0
        self._characters = 0

    def unsupported(self, part: _Part, why: str = "is not supported") -> TalopsError:
        return TalopsError(
            f"the template action {{{{ {part.text[:60]} }}}} {why}",
            where=f"{self._where}:{part.line}",
            hint="render the configs with the other tool, then: talops import talosctl DIRECTORY",
        )

    def block(
        self, parts: list[_Part], place: int, dot: Any, names: dict[str, Any]
    ) -> tuple[int, list[str]]:
        """Until `else`, `end` or the end of the text; returns its place and the output."""
        out: list[str] = []
        while place < len(parts):
            part = parts[place]
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise self.unsupported(part, "repeats too often")
            word = part.text.split(maxsplit=1)[0] if part.action and part.text else ""
            if part.action and word in {"else", "end"}:
                return place, out
            if not part.action:
                out.append(self._bounded(part.text, part))
                place += 1
            elif word in {"if", "with", "range"}:
                place, inner = self._branch(parts, place, word, dot, names)
                out += inner
            else:
                out.append(self._printed(part, dot, names))
                place += 1
        return place, out

    def _branch(
        self, parts: list[_Part], place: int, word: str, dot: Any, names: dict[str, Any]
    ) -> tuple[int, list[str]]:
        part = parts[place]
        bodies = self._bodies(parts, place)
        condition = part.text.removeprefix(word).strip()
        for number, (start, head) in enumerate(bodies.starts):
            text = condition if number == 0 else head
            if text is None:  # a plain else
                return bodies.end + 1, self.block(parts, start, dot, names)[1]
            if number and text.startswith("if"):
                text = text.removeprefix("if").strip()
            value = self._value(text if word != "range" else _iterated(text), part, dot, names)
            if not value:
                continue
            if word == "range":
                return bodies.end + 1, self._repeated(parts, start, text, value, names)
            inner = value if word == "with" else dot
            return bodies.end + 1, self.block(parts, start, inner, names)[1]
        return bodies.end + 1, []

    def _repeated(
        self, parts: list[_Part], start: int, text: str, value: Any, names: dict[str, Any]
    ) -> list[str]:
        out: list[str] = []
        variables = [v.strip() for v in text.partition(":=")[0].split(",")] if ":=" in text else []
        items = sorted(value.items()) if isinstance(value, dict) else list(enumerate(value))
        for key, item in items:
            values = (key, item) if len(variables) > 1 else (item,)
            given = dict(zip(variables, values, strict=False))
            out += self.block(parts, start, item, {**names, **given})[1]
        return out

    def _bodies(self, parts: list[_Part], place: int) -> _Bodies:
        starts: list[tuple[int, str | None]] = [(place + 1, "")]
        depth = 0
        for here in range(place + 1, len(parts)):
            part = parts[here]
            word = part.text.split(maxsplit=1)[0] if part.action and part.text else ""
            if word in {"if", "with", "range", "block", "define"}:
                depth += 1
            elif word == "end" and depth == 0:
                return _Bodies(starts, here)
            elif word == "end":
                depth -= 1
            elif word == "else" and depth == 0:
                starts.append((here + 1, part.text.removeprefix("else").strip() or None))
        raise self.unsupported(parts[place], "has no end")

    def _printed(self, part: _Part, dot: Any, names: dict[str, Any]) -> str:
        if part.text.startswith("/*"):
            return ""
        name, assigned, expression = part.text.partition(":=")
        if assigned:
            names[name.strip()] = self._value(expression.strip(), part, dot, names)
            return ""
        value = self._value(part.text, part, dot, names)
        if isinstance(value, bool):
            return "true" if value else "false"
        return self._bounded("" if value is None else str(value), part)

    def _bounded(self, text: str, part: _Part) -> str:
        """Everything that is made counts, also what is not printed."""
        self._characters += len(text)
        if self._characters > MOST_CHARACTERS:
            raise self.unsupported(part, "makes too much text")
        return text

    def _value(self, text: str, part: _Part, dot: Any, names: dict[str, Any]) -> Any:
        tokens = _TOKEN.findall(text)
        value, rest = self._pipeline(tokens, part, dot, names)
        if rest:
            raise self.unsupported(part)
        return value

    def _pipeline(
        self, tokens: list[str], part: _Part, dot: Any, names: dict[str, Any]
    ) -> tuple[Any, list[str]]:
        value, tokens = self._command(tokens, part, dot, names, ())
        while tokens and tokens[0] == "|":
            value, tokens = self._command(tokens[1:], part, dot, names, (value,))
        return value, tokens

    def _command(
        self,
        tokens: list[str],
        part: _Part,
        dot: Any,
        names: dict[str, Any],
        piped: tuple[Any, ...],
    ) -> tuple[Any, list[str]]:
        if not tokens:
            raise self.unsupported(part)
        function = FUNCTIONS.get(tokens[0])
        if function is None:
            value, rest = self._operand(tokens, part, dot, names)
            if piped:
                raise self.unsupported(part)
            return value, rest
        rest, given = tokens[1:], []
        while rest and rest[0] not in {")", "|"}:
            value, rest = self._operand(rest, part, dot, names)
            given.append(value)
        try:
            value = function(*given, *piped)
        except (TypeError, ValueError, AttributeError, IndexError, KeyError):
            raise self.unsupported(part, "has wrong arguments") from None
        return self._bounded(value, part) if isinstance(value, str) else value, rest

    def _operand(
        self, tokens: list[str], part: _Part, dot: Any, names: dict[str, Any]
    ) -> tuple[Any, list[str]]:
        word, rest = tokens[0], tokens[1:]
        if word == "(":
            value, rest = self._pipeline(rest, part, dot, names)
            if not rest or rest[0] != ")":
                raise self.unsupported(part)
            return value, rest[1:]
        if word.startswith(("`", '"')):
            return (word[1:-1] if word[0] == "`" else self._quoted(word, part)), rest
        if re.fullmatch(r"-?[0-9]{1,18}", word):
            return int(word), rest
        if word in {"true", "false", "nil"}:
            return {"true": True, "false": False, "nil": None}[word], rest
        if word.startswith("$"):
            head, _, path = word.partition(".")
            base = self._root if head == "$" else names.get(head)
            return self._field(base, path, part), rest
        if word.startswith("."):
            return self._field(dot, word[1:], part), rest
        raise self.unsupported(part)

    def _quoted(self, word: str, part: _Part) -> Any:
        try:
            return json.loads(word)
        except ValueError:
            raise self.unsupported(part) from None

    def _field(self, value: Any, path: str, part: _Part) -> Any:
        for name in path.split(".") if path else []:
            if not isinstance(value, dict) or name not in value:
                raise self.unsupported(part, f"names no value: {name}")
            value = value[name]
        return value


@dataclass(frozen=True)
class _Bodies:
    """Where each branch starts with its condition (None for else), and where the block ends."""

    starts: list[tuple[int, str | None]]
    end: int


def _iterated(text: str) -> str:
    return text.partition(":=")[2].strip() if ":=" in text else text
