"""The few kinds of values that a machine config is made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Scalar(Enum):
    TEXT = auto()
    NUMBER = auto()
    COUNT = auto()  # a number of which 0 is merged like any other
    FLAG = auto()  # merged even when it is false
    SWITCH = auto()  # a flag that a later document without it turns off
    ANY = auto()  # a number or a text: sizes, ports, durations
    LAST = auto()  # like ANY, but a later document that does not say it takes it away
    BYTES = auto()  # a text of which "" is merged like any other
    SIZE = auto()  # of bytes or percent; Talos writes the bytes if it was ever given both


class Special(Enum):
    FREE = auto()  # Kubernetes objects and the like: any shape, merged by shape
    NEWEST = auto()  # any shape; a later value replaces the earlier one whole
    ARGS = auto()  # command-line arguments: each later one replaces the earlier one
    PAIR = auto()  # certificate and key: belong together and are replaced together


class Lists(Enum):
    APPEND = auto()
    REPLACE = auto()


@dataclass(frozen=True)
class Word:
    """A text, or a number, of which Talos cannot tell one value from "not written"."""

    zero: str


@dataclass(frozen=True)
class Struct:
    """`sealed`: Talos reads it as one value, in which nothing can be deleted."""

    fields: Mapping[str, Type]
    sealed: bool = False


@dataclass(frozen=True)
class MapOf:
    value: Type


@dataclass(frozen=True)
class ListOf:
    """`key`: items with equal values there are merged; further names are tried in turn."""

    item: Type
    rule: Lists = Lists.APPEND
    key: tuple[str, ...] = ()
    swap: bool = False  # an item with an equal key is replaced instead of merged


Type = Scalar | Special | Word | Struct | MapOf | ListOf

TEXT, NUMBER, FLAG, ANY = Scalar.TEXT, Scalar.NUMBER, Scalar.FLAG, Scalar.ANY
COUNT, LAST, BYTES, SIZE = Scalar.COUNT, Scalar.LAST, Scalar.BYTES, Scalar.SIZE
SWITCH = Scalar.SWITCH
DURATION = Word("0s")
FREE, ARGS, PAIR = Special.FREE, Special.ARGS, Special.PAIR
TEXTS = ListOf(TEXT)
NUMBERS = ListOf(NUMBER)
TEXT_MAP = MapOf(TEXT)


def struct(**fields: Type) -> Struct:
    return Struct(fields)
