"""Encrypted streams: what age itself reads and writes, in pieces and from any position."""

from __future__ import annotations

import io
import subprocess
from typing import TYPE_CHECKING

import pytest

from talops.errors import DeniedError
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.age_header import NotAgeError
from talops.secrets.age_stream import CHUNK, AgeReader, AgeWriter

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

KEY = AgeKey.generate()
OTHER = AgeKey.generate()
RING = KeyRing((KEY,))
SIZES = (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17)


def sealed(plain: bytes, *recipients: str, piece: int = 1000) -> bytes:
    out = io.BytesIO()
    writer = AgeWriter(out.write, recipients or (KEY.recipient,))
    for start in range(0, len(plain), piece):
        writer.add(plain[start : start + piece])
    writer.finish()
    return out.getvalue()


def opened(data: bytes, ring: KeyRing = RING) -> AgeReader:
    return AgeReader(io.BytesIO(data), ring, "here")


@pytest.mark.parametrize("size", SIZES)
def test_a_stream_comes_back(size: int, rng: random.Random) -> None:
    """Whole, and any part of it, whatever the pieces were."""
    plain = rng.randbytes(size)
    reader = opened(sealed(plain, OTHER.recipient, KEY.recipient, piece=rng.randint(1, 200_000)))
    assert reader.size == size
    assert b"".join(reader.pieces()) == plain
    for _ in range(20 if size else 0):
        start = rng.randrange(size)
        length = rng.randint(1, 2 * CHUNK)
        assert reader.read_at(start, length) == plain[start : start + length]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_age_reads_and_writes_the_same(
    size: int, tmp_path: Path, tool: Callable[[str], Path], rng: random.Random
) -> None:
    """The real age decrypts what talops encrypts, and the other way round."""
    age, plain = tool("age"), rng.randbytes(size)
    key = tmp_path / "key"
    RING.save(key)
    told = subprocess.run(
        [age, "-d", "-i", key], input=sealed(plain), capture_output=True, check=True
    )
    assert told.stdout == plain
    words: list[str | Path] = [age, "-e", "-r", OTHER.recipient, "-r", KEY.recipient]
    made = subprocess.run(words, input=plain, capture_output=True, check=True)
    assert b"".join(opened(made.stdout).pieces()) == plain


def test_a_key_that_is_not_a_recipient_is_refused() -> None:
    """The error names the keys that were tried, never the key itself."""
    with pytest.raises(DeniedError, match="other age keys") as caught:
        opened(sealed(b"x"), KeyRing((OTHER,)))
    assert OTHER.recipient in str(caught.value)
    assert OTHER.identity.reveal() not in str(caught.value)


def test_every_changed_byte_is_noticed(rng: random.Random) -> None:
    """In the header, the nonce, a chunk or a tag."""
    whole = sealed(rng.randbytes(CHUNK + 100))
    places = {*range(300), *rng.sample(range(len(whole)), 200)}
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        with pytest.raises((NotAgeError, DeniedError)):
            list(opened(bytes(damaged)).pieces())


def test_every_truncation_is_noticed(rng: random.Random) -> None:
    """Also at the border of two chunks, where the rest decrypts."""
    whole = sealed(rng.randbytes(2 * CHUNK + 100))
    payload = len(whole) - (2 * CHUNK + 100) - 3 * 16
    borders = (payload, payload + CHUNK + 16, payload + 2 * (CHUNK + 16))
    for end in (*range(250), *borders, *rng.sample(range(len(whole)), 100)):
        with pytest.raises((NotAgeError, DeniedError)):
            list(opened(whole[:end]).pieces())
