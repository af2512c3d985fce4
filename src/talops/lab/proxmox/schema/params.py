"""Parameter verification by Proxmox' description of its API, with Proxmox' texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

UNKNOWN = "property is not defined in schema and the schema does not allow additional properties"
MISSING = "property is missing and it is not optional"
ONE_LINE = re.compile(r".+\n?")
INTEGER = re.compile(r"[+-]?\d+")
NUMBER = re.compile(r"[+-]?(?:\d+\.\d+|\d+\.|\.\d+|\d+)(?:[eE][+-]?\d+)?")
TRUE, FALSE = frozenset({"1", "on", "yes", "true"}), frozenset({"0", "off", "no", "false"})


class FormatError(Exception):
    """The error of a format for a value; it ends with a newline, as in Proxmox."""


@dataclass(frozen=True)
class Property:
    """One parameter, or one key of a property string; `alias` keys stand for another key."""

    type: str = "string"
    optional: bool = False
    format: str = ""
    pattern: str = ""
    enum: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    shortest: int | None = None
    longest: int | None = None
    requires: str = ""
    default_key: bool = False
    alias: str = ""
    key_alias: str = ""
    items: Property | None = None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(f"(?:{self.pattern})\n?")

    def problem(self, value: Any, path: str, check: Callable[[str, str, str], None]) -> str:
        """The error of a value, or an empty text; `check` verifies its format."""
        if isinstance(value, list):
            return "" if self.type == "array" else f"type check ('{self.type}') failed - got ARRAY"
        if self.type == "array":
            return "type check ('array') failed"
        text = plain(value)
        wrong = self._wrong_type(text, value)
        if wrong:
            return wrong
        if self.format:
            try:
                check(self.format, text, path)
            except FormatError as error:
                return f"invalid format - {error}"
        return self._wrong_text(text)

    def _wrong_type(self, text: str, value: Any) -> str:
        good = {
            "boolean": text in {"0", "1"} or isinstance(value, bool),
            "integer": bool(INTEGER.fullmatch(text)),
            "number": bool(NUMBER.fullmatch(text)),
        }
        return (
            "" if good.get(self.type, True) else f"type check ('{self.type}') failed - got '{text}'"
        )

    def _wrong_text(self, text: str) -> str:
        if self.pattern and not self._pattern.fullmatch(text):
            return "value does not match the regex pattern"
        if self.longest is not None and len(text) > self.longest:
            return f"value may only be {self.longest} characters long"
        if self.shortest is not None and len(text) < self.shortest:
            return f"value must be at least {self.shortest} characters long"
        wrong = self._wrong_number(float(text)) if NUMBER.fullmatch(text) else ""
        if wrong or not self.enum or text in self.enum:
            return wrong
        return f"value '{text}' does not have a value in the enumeration '{', '.join(self.enum)}'"

    def _wrong_number(self, number: float) -> str:
        if self.maximum is not None and number > self.maximum:
            return f"value must have a maximum value of {_number(self.maximum)}"
        if self.minimum is not None and number < self.minimum:
            return f"value must have a minimum value of {_number(self.minimum)}"
        return ""

    def typed(self, value: Any) -> Any:
        """A valid value, converted to the type that handlers use."""
        if isinstance(value, list):
            return value
        text = plain(value)
        if self.type in {"integer", "boolean"}:
            return int(text)
        if self.type == "number":
            number = float(text)
            return int(number) if number == int(number) else number
        return [text] if self.type == "array" else text


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def plain(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


class Properties:
    """Parameters by name; `net[n]` stands for as many as `limits` allows."""

    def __init__(self, named: dict[str, Property], limits: dict[str, int]) -> None:
        self.plain = {name: p for name, p in named.items() if not name.endswith("[n]")}
        self._indexed = {name[:-3]: p for name, p in named.items() if name.endswith("[n]")}
        self._limits = limits

    def find(self, name: str) -> Property | None:
        if name in self.plain:
            return self.plain[name]
        match = re.fullmatch(r"([a-z_-]+)(0|[1-9]\d*)", name)
        if match and match[1] in self._indexed and int(match[2]) < self._limits[f"{match[1]}[n]"]:
            return self._indexed[match[1]]
        return None

    def problems(
        self, given: dict[str, Any], path: str, check: Callable[[str, str, str], None]
    ) -> Iterable[tuple[str, str]]:
        """Parameter and error for each that is wrong, missing, unknown or lacks a required one."""
        for name, value in given.items():
            where = f"{path}.{name}" if path else name
            found = self.find(name)
            if found is None:
                yield where, UNKNOWN
                continue
            wrong = found.problem(value, where, check)
            if wrong:
                yield where, wrong
            if isinstance(value, list) and found.items and not wrong:
                yield from _items(found.items, value, where, check)
            if found.requires and found.requires not in given:
                place = f"{path}.{found.requires}" if path else found.requires
                yield place, f"missing property required by '{where}'"
        for name, found in self.plain.items():
            if name not in given and not found.optional and not found.alias:
                yield f"{path}.{name}" if path else name, MISSING


def _items(
    item: Property, values: list[Any], path: str, check: Callable[[str, str, str], None]
) -> Iterable[tuple[str, str]]:
    for number, value in enumerate(values):
        place = f"{path}[{number}]"
        wrong = item.problem(value, place, check)
        if wrong:
            yield place, wrong


def parse_string(
    properties: Properties, text: str, path: str, check: Callable[[str, str, str], None]
) -> dict[str, str]:
    """The parts of a property string such as `local-lvm:20,ssd=1`, by key."""
    found: dict[str, str] = {}
    for part in text.split(","):
        if part.strip():
            _take(properties, found, part)
    problems = sorted(properties.problems(found, path, check))
    if problems:
        lines = "".join(f"{where}: {what}\n" for where, what in problems)
        raise FormatError(f"format error\n{lines}")
    return found


def _take(properties: Properties, found: dict[str, str], part: str) -> None:
    key, separator, value = part.partition("=")
    if separator and not (key and ONE_LINE.fullmatch(value)):
        raise FormatError("missing key in comma-separated list property\n")
    if not separator:
        names = [name for name, p in properties.plain.items() if p.default_key]
        if not names:
            raise FormatError("value without key, but schema does not define a default key\n")
        key, value = names[0], part
    if key in found:
        raise FormatError(f"duplicate key in comma-separated list property: {key}\n")
    known = properties.plain.get(key)
    if known and known.alias:
        if known.key_alias:
            if known.key_alias in found:
                raise FormatError(f"key alias '{known.key_alias}' is already defined\n")
            found[known.key_alias] = key
        key = known.alias
        known = properties.plain.get(key)
        if key in found:
            raise FormatError(f"key '{key}' is already defined (via alias)\n")
    if known and known.type == "boolean":
        value = "1" if value.lower() in TRUE else "0" if value.lower() in FALSE else value
    found[key] = value


def verify(
    properties: Properties, raw: dict[str, Any], check: Callable[[str, str, str], None]
) -> dict[str, Any]:
    """Typed values; every wrong parameter is reported at once."""
    given = {name: _shaped(properties.find(name), value) for name, value in raw.items()}
    errors: dict[str, str] = {}
    for where, what in properties.problems(given, "", check):
        errors[where] = f"{errors[where]}\\n{what}" if where in errors else what
    if errors:
        raise invalid(errors)
    typed = {}
    for name, value in given.items():
        found = properties.find(name)
        typed[name] = found.typed(value) if found else value
    return typed


def _shaped(found: Property | None, value: Any) -> Any:
    """Forms have no lists: one value may be a list of one, several may be one string."""
    if found is None or value in ("", 0, "0"):
        return value
    if isinstance(value, list):
        joins = found.type == "string" and found.format.endswith("-list")
        return ",".join(map(plain, value)) if joins else value
    return [value] if found.type == "array" else value
