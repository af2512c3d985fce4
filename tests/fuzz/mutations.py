"""Damage to valid input: of bytes, of plain data, of protobuf. Everything from one seed."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

HOSTILE_TEXTS = (
    "",
    " ",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "a\x00b",
    "\u202egpj.exe",
    "\ud800",
    "line\r\nnext: 1",
    "9" * 30,
    "9" * 5000,
    "-1",
    "null",
    "0x_",
    "1e999",
    "../../etc/passwd",
    "http://[",
    "%00",
    "{{ 7 * 7 }}",
    "${file('/etc/passwd')}",
    "[/]",
    "é" * 300,
    "x" * 10_000,
)
HOSTILE_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    2**64,
    10**30,
    0.5,
    1e308,
    float("inf"),
    float("nan"),
    [],
    {},
    [[]],
    [None],
    {"": None},
    [{}],
    {"a": {"b": {"c": []}}},
    *HOSTILE_TEXTS,
)


def deep(depth: int) -> Any:
    found: Any = "bottom"
    for level in range(depth):
        found = [found] if level % 2 else {"a": found}
    return found


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with every key in it."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        keys = each.keys() if isinstance(each, dict) else range(len(each))
        for key in keys:
            found.append((each, key))
            if isinstance(each[key], dict | list):
                waiting.append(each[key])
    return found


def damaged(rng: random.Random, value: Any, most: int = 4) -> Any:
    """A copy of plain data with one to `most` changes of its structure or values."""
    whole = [copy.deepcopy(value)]
    for _ in range(rng.randint(1, most)):
        container, key = rng.choice(places(whole))
        rng.choice(_CHANGES)(rng, whole, container, key)
    return whole[0] if whole else None


def _replace(rng: random.Random, whole: Any, container: Any, key: Any) -> None:
    container[key] = copy.deepcopy(rng.choice(HOSTILE_VALUES))


def _remove(rng: random.Random, whole: Any, container: Any, key: Any) -> None:
    if container is not whole:
        del container[key]


def _repeat(rng: random.Random, whole: Any, container: Any, key: Any) -> None:
    if isinstance(container, list) and container is not whole:
        container.insert(key, copy.deepcopy(container[key]))
    else:
        container[key] = [container[key]] * rng.randint(2, 5)


def _exchange(rng: random.Random, whole: Any, container: Any, key: Any) -> None:
    other, place = rng.choice(places(whole))
    container[key] = copy.deepcopy(other[place])


def _convert(rng: random.Random, whole: Any, container: Any, key: Any) -> None:
    found = container[key]
    if isinstance(found, str):
        number = found.isascii() and found.isdigit() and len(found) < 50
        container[key] = int(found) if number else found.encode(errors="replace").hex()
    elif isinstance(found, dict):
        container[key] = list(found.values())
    elif isinstance(found, list):
        container[key] = {str(at): each for at, each in enumerate(found)}
    else:
        container[key] = str(found)


def _wrap(rng: random.Random, whole: Any, container: Any, key: Any) -> None:
    found = container[key]
    container[key] = rng.choice([[found], {"value": found}, deep(rng.choice([3, 100]))])


def _rename(rng: random.Random, whole: Any, container: Any, key: Any) -> None:
    if isinstance(container, dict):
        container[rng.choice([*HOSTILE_TEXTS[:8], str(key).upper(), f"{key}s"])] = container.pop(
            key
        )


def _scribble(rng: random.Random, whole: Any, container: Any, key: Any) -> None:
    found = container[key]
    if isinstance(found, str):
        at = rng.randint(0, len(found))
        container[key] = found[:at] + rng.choice(HOSTILE_TEXTS) + found[at + rng.randint(0, 2) :]
    elif isinstance(found, int) and not isinstance(found, bool):
        container[key] = rng.choice([found + 1, -found, found * 1000, found % 1000 * 10**30])


_CHANGES: tuple[Callable[[random.Random, Any, Any, Any], None], ...] = (
    _replace,
    _replace,
    _remove,
    _remove,
    _repeat,
    _exchange,
    _convert,
    _wrap,
    _rename,
    _scribble,
    _scribble,
)


def scrambled(
    rng: random.Random, data: bytes, others: Sequence[bytes] = (), most: int = 6
) -> bytes:
    """Bytes with flipped bits, foreign, repeated and missing parts; often cut off."""
    found = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if not found:
            found += rng.randbytes(rng.randint(0, 20))
            continue
        at = rng.randrange(len(found))
        end = min(len(found), at + rng.choice([1, 2, 8, 100]))
        match rng.randrange(7):
            case 0:
                found[at] ^= 1 << rng.randrange(8)
            case 1:
                found[at] = rng.choice(b"\x00\xff\x7f\x80\x1b\n\"'{}[]:,-&*!|>%#?\\")
            case 2:
                del found[at:end]
            case 3:
                found[at:at] = found[at:end] * rng.choice([1, 2, 50])
            case 4:
                found[at:at] = rng.randbytes(rng.choice([1, 4, 16]))
            case 5:
                del found[at:]
            case 6:
                other = rng.choice(others) if others else bytes(found)
                start = rng.randrange(len(other) + 1)
                found[at:end] = other[start : start + rng.choice([4, 40, 400])]
    return bytes(found)


VARINT, FIXED64, BYTES, GROUP, END, FIXED32 = range(6)


def rewired(rng: random.Random, data: bytes) -> bytes:
    """A protobuf message with a field of another type, length, number or value; or scrambled."""
    fields = _fields(data)
    if not fields or rng.random() < 0.15:
        return scrambled(rng, data, most=3)
    inner = [at for at, (_, kind, value) in enumerate(fields) if kind == BYTES and _fields(value)]
    if inner and rng.random() < 0.7:
        at = rng.choice(inner)
        number, kind, value = fields[at]
        fields[at] = (number, kind, rewired(rng, value))
        return b"".join(_field(*field) for field in fields)
    for _ in range(rng.choice([1, 1, 1, 3])):
        if fields:
            _rewire(rng, fields)
    return b"".join(_field(*field) for field in fields)


def _rewire(rng: random.Random, fields: list[tuple[int, int, bytes]]) -> None:
    at = rng.randrange(len(fields))
    number, kind, value = fields[at]
    match rng.randrange(6):
        case 0:
            fields[at] = (number, rng.randrange(8), value)
        case 1:
            fields[at] = (rng.choice([0, 1, 2, 3, 15, 2**28]), kind, value)
        case 2:
            del fields[at]
        case 3:
            fields.insert(at, fields[at])
        case _ if kind == VARINT:
            large = rng.choice([0, 1, 2, 99, 2**31 - 1, 2**31, 2**63, 2**64 - 1])
            fields[at] = (number, kind, _varint(large))
        case 4 if kind == BYTES:
            fields[at] = (number, kind, scrambled(rng, value, most=2))
        case _:
            text = rng.choice(HOSTILE_TEXTS).encode(errors="surrogatepass")
            fields[at] = (number, BYTES, text)


def _fields(data: bytes) -> list[tuple[int, int, bytes]]:
    """[] if this is not a message."""
    found, at = [], 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        start = at
        if kind == VARINT:
            _, at = _read_varint(data, at)
        elif kind == BYTES:
            length, start = _read_varint(data, at)
            at = start + length
        elif kind in {FIXED64, FIXED32}:
            at += 8 if kind == FIXED64 else 4
        else:
            return []
        if at > len(data) or not number:
            return []
        found.append((number, kind, data[start:at]))
    return found


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return found, at
    return 0, len(data) + 1


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _field(number: int, kind: int, value: bytes) -> bytes:
    tag = _varint(number << 3 | kind)
    return tag + _varint(len(value)) + value if kind == BYTES else tag + value
