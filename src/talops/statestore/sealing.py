"""Encryption at rest: frames of AES-256-GCM, so that bodies are encrypted while streaming.

Each version has its own data key, so the nonce is the position of the frame; it also marks the
last frame, so that a truncated body is detected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.statestore.keys import Keyring

FRAME = 1024 * 1024
TAG = 16


class Seal:
    """Encrypt one body, frame by frame; every frame except the last has exactly FRAME bytes."""

    def __init__(self, keyring: Keyring, state: str) -> None:
        key, self.sealed_key = keyring.new_data_key(state)
        self._cipher = AESGCM(key)
        self._aad = state.encode()
        self._place = 0

    def frame(self, pieces: list[bytes], *, last: bool) -> list[bytes]:
        data = b"".join(pieces)
        sealed = self._cipher.encrypt(_nonce(self._place, last=last), data, self._aad)
        self._place += 1
        return [sealed]


class NoSeal:
    sealed_key = ""

    def frame(self, pieces: list[bytes], *, last: bool) -> list[bytes]:  # noqa: ARG002  (the shape of Seal)
        return pieces


class BodyCipher:
    """Encrypt and decrypt, or pass through if the server has no key."""

    def __init__(self, keyring: Keyring | None) -> None:
        self.keyring = keyring

    def seal(self, state: str) -> Seal | NoSeal:
        return Seal(self.keyring, state) if self.keyring else NoSeal()

    def open(self, state: str, sealed_key: str, body: bytes) -> bytes:
        """Decrypt a body of a single frame."""
        if not sealed_key:
            return body
        return _open(self._cipher(state, sealed_key), state, 0, body, last=True)

    async def open_stream(
        self, state: str, sealed_key: str, pieces: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        if not sealed_key:
            async for piece in pieces:
                yield piece
            return
        cipher = self._cipher(state, sealed_key)
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

    def _cipher(self, state: str, sealed_key: str) -> AESGCM:
        if self.keyring is None:
            raise TalopsError(
                "this version is encrypted, but the server has no key",
                where=state,
                hint="start the server with --key-file",
            )
        return AESGCM(self.keyring.unwrap(sealed_key, state))


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
