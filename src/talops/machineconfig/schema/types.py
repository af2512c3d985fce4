"""The value types of a machine config."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Scalar(Enum):
    TEXT = auto()
    NUMBER = auto()
    COUNT = auto()  # a number whose 0 is merged like any other value
    FLAG = auto()  # merged even if false
    SWITCH = auto()  # a flag that a later document without it resets
    ANY = auto()  # a number or a string: sizes, ports, durations
    LAST = auto()  # like ANY, but a later document without it removes it
    BYTES = auto()  # a string whose "" is merged like any other value
    SIZE = auto()  # bytes or percent; Talos keeps the bytes if both were set


class Special(Enum):
    FREE = auto()  # Kubernetes objects and similar values: any type, merged by type
    NEWEST = auto()  # any type; a later value replaces the earlier one completely
    ARGS = auto()  # command-line arguments: each later value replaces the earlier one
    PAIR = auto()  # certificate and key: replaced together


class Lists(Enum):
    APPEND = auto()
    REPLACE = auto()


@dataclass(frozen=True)
class ZeroValued:
    """A string or number with a zero value that Talos treats as not set."""

    zero: str


@dataclass(frozen=True)
class Struct:
    """`sealed`: Talos treats it as one value; parts cannot be deleted."""

    fields: Mapping[str, Type]
    sealed: bool = False


@dataclass(frozen=True)
class MapOf:
    value: Type


@dataclass(frozen=True)
class ListOf:
    """`key`: items with equal values of this field are merged; further names are alternatives."""

    item: Type
    rule: Lists = Lists.APPEND
    key: tuple[str, ...] = ()
    swap: bool = False  # an item with an equal key is replaced instead of merged


Type = Scalar | Special | ZeroValued | Struct | MapOf | ListOf

TEXT, NUMBER, FLAG, ANY = Scalar.TEXT, Scalar.NUMBER, Scalar.FLAG, Scalar.ANY
COUNT, LAST, BYTES, SIZE = Scalar.COUNT, Scalar.LAST, Scalar.BYTES, Scalar.SIZE
SWITCH = Scalar.SWITCH
DURATION = ZeroValued("0s")
FREE, ARGS, PAIR = Special.FREE, Special.ARGS, Special.PAIR
TEXTS = ListOf(TEXT)
NUMBERS = ListOf(NUMBER)
TEXT_MAP = MapOf(TEXT)


def struct(**fields: Type) -> Struct:
    return Struct(fields)
