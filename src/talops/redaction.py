"""Secrets are a type that cannot be printed; text that leaves talops is masked as well."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

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
_AUTHORIZATION = re.compile(
    r"((?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:basic|bearer)\s+)[\w+/=.~-]{6,}",
    flags=re.IGNORECASE,
)
_URL_SAFE = str.maketrans("+/", "-_")
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
    """Mask known secret values in every encoding, and anything that looks like a key."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._known: set[str] = set()
        # First characters → forms, so that a line is compared with few of them.
        self._heads: dict[str, list[str]] = {}
        self.learn(*secrets)

    def learn(self, *secrets: Secret) -> None:
        for value in {each.reveal() for each in secrets} - self._known:
            self._known.add(value)
            for form in forms(value):
                self._heads.setdefault(form[:SHORTEST_MASKED], []).append(form)

    def __call__(self, text: str) -> str:
        # Longest first, so that a secret that contains another one is masked completely.
        for form in sorted(self._candidates(text), key=len, reverse=True):
            text = text.replace(form, MASK)
        text = _KEY_BLOCK.sub(lambda m: f"-----BEGIN {m[1]}-----{MASK}-----END {m[1]}-----", text)
        text = _AGE_KEY.sub(MASK, text)
        text = _PVE_TOKEN.sub(rf"\1{MASK}", text)
        text = _AUTHORIZATION.sub(rf"\1{MASK}", text)
        return _URL_PASSWORD.sub(rf"\1{MASK}\2", text)

    def _candidates(self, text: str) -> set[str]:
        """The known forms that begin somewhere in this text."""
        if len(text) > len(self._heads):
            return {f for head, found in self._heads.items() if head in text for f in found}
        starts = range(len(text) - SHORTEST_MASKED + 1)
        heads = {text[at : at + SHORTEST_MASKED] for at in starts} & self._heads.keys()
        return {form for head in heads for form in self._heads[head]}


def forms(value: str) -> frozenset[str]:
    """Every encoding in which a value may appear in a text, short ones left out."""
    plain = value.strip()
    found = {value, plain, quote(plain, safe=""), quote(plain), quote_plus(plain)}
    for each in (value, plain):
        found |= {json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1]}
    found |= _in_base64(plain)
    # A log may contain a part of a PEM block: each of its lines, also of one in base64.
    inner = _decoded(plain)
    if inner is not None:
        found.add(inner)
    lines = (inner or plain).splitlines()
    if len(lines) > 1:
        found |= {line for line in lines if not line.startswith("-----")}
    return frozenset(form for form in found if len(form) >= SHORTEST_MASKED)


def _in_base64(value: str) -> set[str]:
    """The characters that this value alone decides, wherever it begins in the encoded text.

    So a password is found in the header of HTTP Basic, after the name of its user.
    """
    data, found = value.encode(errors="surrogatepass"), set()
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()
        sure = text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        found |= {sure, sure.translate(_URL_SAFE)}
    return found


def _decoded(value: str) -> str | None:
    try:
        return base64.b64decode(value, validate=True).decode()
    except ValueError:  # not base64, or not base64 of a text
        return None
