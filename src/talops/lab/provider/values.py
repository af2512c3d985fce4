"""The values of a configuration or state: plain Python, one marker for "not known yet"."""

from __future__ import annotations

from typing import Any, Final

import msgpack  # type: ignore[import-untyped]  # it carries no annotations

Values = dict[str, Any]
# How a type is written in a schema: "string", ["list", "string"], ["object", {…}].
Type = str | list[Any]

_REFINED_UNKNOWN = 12


class Unknown:
    """A value that only applying will tell; there is one, UNKNOWN."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


UNKNOWN: Final = Unknown()


def pack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, default=_pack_special)
    return packed


def unpack(data: bytes) -> Any:
    return msgpack.unpackb(data, ext_hook=_unpack_special, strict_map_key=False)


def settled(value: Any) -> Any:
    """The same with every unknown as null: what is left when work begins."""
    if value is UNKNOWN:
        return None
    if isinstance(value, dict):
        return {key: settled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [settled(item) for item in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Equal as far as a plan is concerned: null and a zero are one."""
    if is_zero(left) and is_zero(right):
        return True
    return bool(left == right)


def is_zero(value: Any) -> bool:
    return value is not UNKNOWN and value in (None, "", 0, False, [], {})


def _pack_special(value: Any) -> Any:
    if value is UNKNOWN:
        return msgpack.ExtType(0, b"\0")
    raise TypeError(f"{type(value).__name__} is no value of a state")


def _unpack_special(code: int, _: bytes) -> Any:
    if code in (0, _REFINED_UNKNOWN):
        return UNKNOWN
    raise ValueError(f"unknown extension {code} in a value")
