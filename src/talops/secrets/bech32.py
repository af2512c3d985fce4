"""Bech32 (BIP 173), the encoding of age keys: a readable prefix, 5-bit letters, a checksum."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_LETTERS = 6
_LOW_FIVE, _LOW_25 = 0x1F, 0x1FFFFFF


def encode(prefix: str, data: bytes) -> str:
    words = _regroup(data, 8, 5, pad=True)
    check = _polymod([*_expand(prefix), *words, *[0] * _CHECKSUM_LETTERS]) ^ 1
    tail = [check >> 5 * (_CHECKSUM_LETTERS - 1 - i) & _LOW_FIVE for i in range(_CHECKSUM_LETTERS)]
    return f"{prefix}1" + "".join(LETTERS[word] for word in [*words, *tail])


def decode(text: str) -> tuple[str, bytes]:
    """Prefix and data; ValueError for a mistyped or truncated text."""
    if text not in (text.lower(), text.upper()):
        raise ValueError("upper and lower case are mixed")
    prefix, mark, body = text.lower().rpartition("1")
    if not mark or len(body) < _CHECKSUM_LETTERS or set(body) - set(LETTERS):
        raise ValueError("not bech32")
    words = [LETTERS.index(letter) for letter in body]
    if _polymod([*_expand(prefix), *words]) != 1:
        raise ValueError("the checksum is wrong: mistyped or truncated")
    return prefix, bytes(_regroup(words[:-_CHECKSUM_LETTERS], 5, 8, pad=False))


def _expand(prefix: str) -> list[int]:
    codes = prefix.encode()
    return [*(code >> 5 for code in codes), 0, *(code & _LOW_FIVE for code in codes)]


def _polymod(words: Iterable[int]) -> int:
    check = 1
    for word in words:
        top = check >> 25
        check = (check & _LOW_25) << 5 ^ word
        for bit, factor in enumerate(_GENERATOR):
            check ^= factor if top >> bit & 1 else 0
    return check


def _regroup(words: Iterable[int], size: int, into: int, *, pad: bool) -> list[int]:
    """The same bits in groups of another size."""
    held, bits, out = 0, 0, []
    for word in words:
        held, bits = held << size | word, bits + size
        while bits >= into:
            bits -= into
            out.append(held >> bits & (1 << into) - 1)
            held &= (1 << bits) - 1
    if pad and bits:
        out.append(held << into - bits)
    elif not pad and (bits >= size or held):
        raise ValueError("bits are left over")
    return out
