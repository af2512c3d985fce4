"""Messages and values survive the wire."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talops.lab.provider.values import UNKNOWN, pack, settled, unpack
from talops.lab.provider.wire.codec import Field, Message, decode, encode

INNER = Message("Inner", {"name": Field(1, "string"), "index": Field(2, "int")})
OUTER = Message(
    "Outer",
    {
        "flag": Field(1, "bool"),
        "raw": Field(2, "bytes"),
        "items": Field(3, INNER, repeated=True),
        "named": Field(4, INNER, mapped=True),
        "one": Field(17, INNER),
    },
)
INNERS = st.fixed_dictionaries({"name": st.text(), "index": st.integers(-(2**63), 2**63 - 1)})


@given(
    st.fixed_dictionaries(
        {
            "flag": st.booleans(),
            "raw": st.binary(),
            "items": st.lists(INNERS),
            "named": st.dictionaries(st.text(), INNERS),
            "one": INNERS,
        }
    )
)
def test_a_message_comes_back_as_it_was(values: dict[str, Any]) -> None:
    """Every kind of field, negative numbers and empty values included."""
    assert decode(OUTER, encode(OUTER, values)) == values


def test_bytes_are_as_protocol_buffers_say() -> None:
    """The example of the encoding's own documentation: field 1, varint 150; field 2, "testing"."""
    message = Message("Test", {"a": Field(1, "int"), "b": Field(2, "string")})
    wire = bytes.fromhex("08960112") + b"\x07testing"
    assert encode(message, {"a": 150, "b": "testing"}) == wire
    assert decode(message, wire) == {"a": 150, "b": "testing"}


def test_an_explicit_zero_is_written() -> None:
    """A step to element 0 of a list must not look like no step at all."""
    assert encode(INNER, {"index": 0}) == b"\x10\x00"


def test_unknown_fields_are_skipped() -> None:
    """A newer OpenTofu may say more than we read."""
    more = Message("More", {"name": Field(1, "string"), "extra": Field(9, "string")})
    wire = encode(more, {"name": "x", "extra": "y"})
    assert decode(Message("Less", {"name": Field(1, "string")}), wire) == {"name": "x"}


@pytest.mark.parametrize("wire", [b"\x0a\x05ab", b"\x08", b"\x0b"])
def test_a_broken_message_is_an_error(wire: bytes) -> None:
    """Cut short or of an unknown kind: never half a message."""
    with pytest.raises(ValueError, match=r"message|wire type"):
        decode(OUTER, wire)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text() | st.just(UNKNOWN),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(JSON)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    """Unknown values too, wherever they stand."""
    assert unpack(pack(value)) == value


def test_refined_unknowns_are_unknown() -> None:
    """OpenTofu may tell a little about what it does not know; it stays unknown."""
    assert unpack(b"\xc7\x03\x0c\x81\x01\xc2") is UNKNOWN


@given(JSON)
def test_settled_values_know_everything(value: Any) -> None:
    """Work starts with nulls where nothing is known."""
    assert not any(part is UNKNOWN for part in parts(settled(value)))


def parts(value: Any) -> list[Any]:
    """The value and all that is in it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for item in inner for part in parts(item))]
