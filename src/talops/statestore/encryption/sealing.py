"""Encryption at rest: frames of AES-256-GCM, so that bodies are encrypted while streaming.

Each version has its own data key, so the nonce is the position of the frame; it also marks the
last frame, so that a truncated body is detected. The data key is wrapped for one version: its
state, number, serial, lineage, size and MD5, so that no version can be served as another one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from talops.errors import TalopsError
from talops.statestore.encryption.keys import KEY_SIZE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.statestore.encryption.keys import Keyring
    from talops.statestore.model import Version

FRAME = 1024 * 1024
TAG = 16


class Seal:
    """Encrypt one body, frame by frame; every frame except the last has exactly FRAME bytes."""

    def __init__(self, keyring: Keyring, state: str) -> None:
        self._keyring = keyring
        self._state = state
        self._key = AESGCM.generate_key(KEY_SIZE * 8)
        self._cipher = AESGCM(self._key)
        self._place = 0

    def frame(self, pieces: list[bytes], *, last: bool) -> list[bytes]:
        data = b"".join(pieces)
        sealed = self._cipher.encrypt(_nonce(self._place, last=last), data, self._state.encode())
        self._place += 1
        return [sealed]

    def wrap(self, version: Version) -> str:
        """The data key for this version only."""
        return self._keyring.wrap(self._key, binding(self._state, version))


class NoSeal:
    wrap = None

    def frame(self, pieces: list[bytes], *, last: bool) -> list[bytes]:  # noqa: ARG002  (the shape of Seal)
        return pieces


def binding(state: str, version: Version) -> bytes:
    marks = [state, version.number, version.serial, version.lineage, version.size, version.md5]
    return json.dumps(marks).encode()


class BodyCipher:
    """Encrypt and decrypt, or pass through if the server has no key.

    With a key, a version without encryption is refused: a person who can write to the store could
    have put it there. `plaintext` accepts those that were written before the server had a key.
    """

    def __init__(self, keyring: Keyring | None, *, plaintext: bool = False) -> None:
        self.keyring = keyring
        self._plaintext = plaintext or keyring is None

    def seal(self, state: str) -> Seal | NoSeal:
        return Seal(self.keyring, state) if self.keyring else NoSeal()

    def rewrap(self, state: str, old: Version, new: Version) -> str:
        """The data key of an old version for a new one with the same bytes."""
        ring = self._ring(state)
        key = ring.unwrap(old.sealed_key, state, binding(state, old))
        return ring.wrap(key, binding(state, new))

    def open(self, state: str, version: Version, body: bytes) -> bytes:
        """Decrypt a body of a single frame."""
        if self._is_plain(state, version):
            return body
        return _open(self._cipher(state, version), state, 0, body, last=True)

    async def open_stream(
        self, state: str, version: Version, pieces: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        if self._is_plain(state, version):
            async for piece in pieces:
                yield piece
            return
        cipher = self._cipher(state, version)
        buffer, place = bytearray(), 0
        async for piece in pieces:
            buffer += piece
            # A full frame is known not to be the last one only if more data follows.
            while len(buffer) > FRAME + TAG:
                frame = bytes(buffer[: FRAME + TAG])
                del buffer[: FRAME + TAG]
                yield _open(cipher, state, place, frame, last=False)
                place += 1
        yield _open(cipher, state, place, bytes(buffer), last=True)

    def _is_plain(self, state: str, version: Version) -> bool:
        if version.sealed_key:
            return False
        if not self._plaintext:
            raise TalopsError(
                "this version is not encrypted, but the server has a key",
                where=state,
                hint="if it is older than the key: start the server with --accept-plaintext, and "
                "encrypt all states by POST /-/rewrap",
            )
        return True

    def _cipher(self, state: str, version: Version) -> AESGCM:
        key = self._ring(state).unwrap(version.sealed_key, state, binding(state, version))
        return AESGCM(key)

    def _ring(self, state: str) -> Keyring:
        if self.keyring is None:
            raise TalopsError(
                "this version is encrypted, but the server has no key",
                where=state,
                hint="start the server with --key-file",
            )
        return self.keyring


def _open(cipher: AESGCM, state: str, place: int, frame: bytes, *, last: bool) -> bytes:
    try:
        return cipher.decrypt(_nonce(place, last=last), frame, state.encode())
    except InvalidTag as error:
        raise TalopsError(
            "a stored state is damaged: authentication failed",
            where=state,
            hint="roll back to an older version: talops state rollback",
        ) from error


def _nonce(place: int, *, last: bool) -> bytes:
    return place.to_bytes(11, "big") + (b"\x01" if last else b"\x00")
