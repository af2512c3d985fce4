"""Protocol buffers from field tables: a message is a dict, a definition says how it is written.

A generated module would cost more start-up time than the whole of this provider's own code, and
OpenTofu starts a provider several times per command.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_CONTINUE = 0x80
_SIGN = 1 << 63


@dataclass(frozen=True)
class Field:
    """`kind` is string, bytes, bool, int or a Message; `mapped` is a map with string keys."""

    number: int
    kind: str | Message
    repeated: bool = False
    mapped: bool = False


@dataclass(frozen=True)
class Message:
    name: str
    fields: dict[str, Field] = field(default_factory=dict)


def encode(message: Message, values: dict[str, Any]) -> bytes:
    """Only what is set is written; an explicit zero counts as set, so that oneofs work."""
    out = bytearray()
    for name, value in values.items():
        if value is None:
            continue
        entry = message.fields[name]
        if entry.mapped:
            for key, item in value.items():
                _write(out, entry.number, _pair(entry), {"key": key, "value": item})
        elif entry.repeated:
            for item in value:
                _write(out, entry.number, entry.kind, item)
        else:
            _write(out, entry.number, entry.kind, value)
    return bytes(out)


def decode(message: Message, data: bytes) -> dict[str, Any]:
    """Every field is there: absent ones with their zero, absent messages as None."""
    values = {name: _zero(entry) for name, entry in message.fields.items()}
    names = {entry.number: name for name, entry in message.fields.items()}
    for number, raw in _parts(data):
        name = names.get(number)
        if name is None:
            continue
        entry = message.fields[name]
        if entry.mapped:
            pair = decode(_pair(entry), raw)
            values[name][pair["key"]] = pair["value"]
        elif entry.repeated:
            values[name].append(_read(entry.kind, raw))
        else:
            values[name] = _read(entry.kind, raw)
    return values


def _pair(entry: Field) -> Message:
    return Message("pair", {"key": Field(1, "string"), "value": Field(2, entry.kind)})


def _zero(entry: Field) -> Any:
    if entry.mapped:
        return {}
    if entry.repeated:
        return []
    zeros: dict[Any, Any] = {"string": "", "bytes": b"", "bool": False, "int": 0}
    return None if isinstance(entry.kind, Message) else zeros[entry.kind]


def _write(out: bytearray, number: int, kind: str | Message, value: Any) -> None:
    if kind in ("bool", "int"):
        _varint(out, number << 3 | VARINT)
        _varint(out, int(value) % (1 << 64))
        return
    if isinstance(kind, Message):
        raw = encode(kind, value)
    else:
        raw = value.encode() if kind == "string" else value
    _varint(out, number << 3 | LENGTH)
    _varint(out, len(raw))
    out += raw


def _read(kind: str | Message, raw: Any) -> Any:
    if isinstance(kind, Message):
        return decode(kind, raw)
    if kind == "string":
        return raw.decode()
    if kind == "bool":
        return bool(raw)
    if kind == "int":
        return raw - (1 << 64) if raw & _SIGN else raw
    return raw


def _varint(out: bytearray, value: int) -> None:
    while value >= _CONTINUE:
        out.append(value & 0x7F | _CONTINUE)
        value >>= 7
    out.append(value)


def _parts(data: bytes) -> Iterator[tuple[int, Any]]:
    position = 0
    while position < len(data):
        tag, position = _take(data, position)
        kind = tag & 7
        if kind == VARINT:
            value, position = _take(data, position)
            yield tag >> 3, value
            continue
        if kind == LENGTH:
            size, position = _take(data, position)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind} is not used by protocol 6")
        if position + size > len(data):
            raise ValueError("the message ends in the middle of a field")
        yield tag >> 3, data[position : position + size]
        position += size


def _take(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data):
            raise ValueError("the message ends in the middle of a number")
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < _CONTINUE:
            return value, position
        shift += 7
