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
    FLAG = auto()  # merged even when it is false
    ANY = auto()  # a number or a text: sizes, ports, durations


class Special(Enum):
    FREE = auto()  # Kubernetes objects and the like: any shape, merged by shape
    NEWEST = auto()  # any shape; a later value replaces the earlier one whole
    ARGS = auto()  # command-line arguments: each later one replaces the earlier one
    PAIR = auto()  # certificate and key: belong together and are replaced together


class Lists(Enum):
    APPEND = auto()
    REPLACE = auto()


@dataclass(frozen=True)
class Struct:
    fields: Mapping[str, Type]


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


Type = Scalar | Special | Struct | MapOf | ListOf

TEXT, NUMBER, FLAG, ANY = Scalar.TEXT, Scalar.NUMBER, Scalar.FLAG, Scalar.ANY
FREE, ARGS, PAIR = Special.FREE, Special.ARGS, Special.PAIR
TEXTS = ListOf(TEXT)
NUMBERS = ListOf(NUMBER)
TEXT_MAP = MapOf(TEXT)


def struct(**fields: Type) -> Struct:
    return Struct(fields)
