"""Secrets are a type that cannot be printed; text that leaves talops is masked as well."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "***"
# Shorter values would mask ordinary words ("no", "root") throughout a log.
SHORTEST_MASKED = 6

_KEY_BLOCK = re.compile(
    r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----.*?-----END \1-----", flags=re.DOTALL
)
_AGE_KEY = re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]+")
_PVE_TOKEN = re.compile(r"(PVEAPIToken=[^=\s]+=)[0-9A-Za-z-]+")
_URL_PASSWORD = re.compile(r"(://[^/\s:@]+:)[^/\s@]+(@)")


class Secret:
    """A value that only `reveal()` returns; repr, str, format and logging show a mask."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __reduce__(self) -> Any:
        raise TypeError("a Secret cannot be pickled")


class Redactor:
    """Mask known secret values, and anything that looks like a key, in any text."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._known: list[str] = []
        self.learn(*secrets)

    def learn(self, *secrets: Secret) -> None:
        values = {value for s in secrets if len(value := s.reveal()) >= SHORTEST_MASKED}
        # Longest first, so that a secret that contains another one is masked completely.
        self._known = sorted({*self._known, *values}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self._known:
            text = text.replace(value, MASK)
        text = _KEY_BLOCK.sub(lambda m: f"-----BEGIN {m[1]}-----{MASK}-----END {m[1]}-----", text)
        text = _AGE_KEY.sub(MASK, text)
        text = _PVE_TOKEN.sub(rf"\1{MASK}", text)
        return _URL_PASSWORD.sub(rf"\1{MASK}\2", text)
