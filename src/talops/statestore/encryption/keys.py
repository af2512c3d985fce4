"""Master keys for encryption at rest: the first one encrypts, all of them decrypt."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Iterable

KEY_SIZE = 32
# A data key that is bound to all marks of its version, not only to the name of its state.
_BOUND = "v2."
_NONCE_SIZE = 12
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_AGE_PREFIX = "AGE-SECRET-KEY-1"
_CHECKSUM_LENGTH = 6
_AGE_LENGTH = 52 + _CHECKSUM_LENGTH
_BECH32_CONSTANTS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


class StateKeyError(TalopsError):
    """A key is missing, malformed, or not the one that encrypted a version."""


@dataclass(frozen=True, slots=True)
class MasterKey:
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_SIZE:
            raise StateKeyError(
                f"a key has {KEY_SIZE} bytes, this one {len(self.secret)}",
                hint="openssl rand -base64 32 > state.key",
            )

    @property
    def id(self) -> str:
        return hashlib.sha256(b"talops state key id" + self.secret).hexdigest()[:12]


class Keyring:
    """Envelope keys: every version has its own data key, wrapped by a master key."""

    def __init__(self, keys: Iterable[MasterKey]) -> None:
        self._keys = {key.id: key for key in keys}
        if not self._keys:
            raise StateKeyError(
                "the key file contains no key", hint="openssl rand -base64 32 > state.key"
            )
        self.current = next(iter(self._keys.values()))

    def wrap(self, data_key: bytes, binding: bytes) -> str:
        """Only for the version that `binding` describes."""
        nonce = os.urandom(_NONCE_SIZE)
        sealed = AESGCM(self.current.secret).encrypt(nonce, data_key, binding)
        return f"{_BOUND}{self.current.id}:{base64.b64encode(nonce + sealed).decode()}"

    def unwrap(self, sealed_key: str, state: str, binding: bytes) -> bytes:
        """Keys of older servers are bound to the name of the state only."""
        aad = binding if is_bound(sealed_key) else state.encode()
        key_id, _, text = sealed_key.removeprefix(_BOUND).partition(":")
        master = self._keys.get(key_id)
        if master is None:
            raise StateKeyError(
                f"this version is encrypted with key {key_id}, which the server does not have",
                hint="add the old key below the new one in the key file",
            )
        try:
            raw = base64.b64decode(text)
            return AESGCM(master.secret).decrypt(raw[:_NONCE_SIZE], raw[_NONCE_SIZE:], aad)
        except (InvalidTag, ValueError) as error:
            raise StateKeyError(
                "the key of this version is damaged, or belongs to another version",
                where=state,
                hint="roll back to an older version: talops state rollback",
            ) from error

    def is_current(self, sealed_key: str) -> bool:
        return sealed_key.startswith(f"{_BOUND}{self.current.id}:")

    def sign(self, data: bytes) -> str:
        return f"{self.current.id}:{_mac(self.current, data)}"

    def verify(self, data: bytes, signature: str) -> bool | None:
        """None if it was signed with a key that this ring does not have."""
        key_id, _, found = signature.partition(":")
        master = self._keys.get(key_id)
        if master is None:
            return None
        return found.isascii() and hmac.compare_digest(found, _mac(master, data))


def is_bound(sealed_key: str) -> bool:
    return sealed_key.startswith(_BOUND)


def _mac(key: MasterKey, data: bytes) -> str:
    own = hmac.digest(key.secret, b"talops state audit", "sha256")
    return hmac.digest(own, data, "sha256").hex()


def parse_keys(text: str) -> list[MasterKey]:
    """One key per line (base64, hex, or an age identity); skips blank lines and # comments."""
    lines = (line.strip() for line in text.splitlines())
    return [_parse(line) for line in lines if line and not line.startswith("#")]


def _parse(line: str) -> MasterKey:
    if line.upper().startswith(_AGE_PREFIX):
        return from_age_identity(line)
    try:
        if len(line) == 2 * KEY_SIZE:
            return MasterKey(bytes.fromhex(line))
        return MasterKey(base64.b64decode(line, validate=True))
    except (ValueError, binascii.Error):
        # `from None`: the cause would quote the line, and the line is a key.
        raise StateKeyError(
            "a line of the key file is neither base64, hex nor an age identity",
            hint="generate a key with: openssl rand -base64 32",
        ) from None


def from_age_identity(identity: str) -> MasterKey:
    """A key derived from an age identity, so that one key file works for SOPS and the states."""
    data = identity.strip().lower().removeprefix(_AGE_PREFIX.lower())
    values = [_BECH32.find(letter) for letter in data]
    if len(values) != _AGE_LENGTH or -1 in values or _checksum(values) != 1:
        raise StateKeyError("the age identity is malformed", hint="generate one with: age-keygen")
    number = 0
    for value in values[:-_CHECKSUM_LENGTH]:
        number = number << 5 | value
    # 52 letters of five bits encode 256 bits and four zeros.
    secret = (number >> 4).to_bytes(KEY_SIZE, "big")
    derive = HKDF(SHA256(), KEY_SIZE, salt=None, info=b"talops state encryption at rest")
    return MasterKey(derive.derive(secret))


def _checksum(values: list[int]) -> int:
    """The Bech32 checksum: a mistyped identity must not silently become another key."""
    prefix = _AGE_PREFIX[:-1].lower().encode()
    expanded = [*(byte >> 5 for byte in prefix), 0, *(byte & 31 for byte in prefix), *values]
    total = 1
    for value in expanded:
        top = total >> 25
        total = (total & 0x1FFFFFF) << 5 ^ value
        for place, constant in enumerate(_BECH32_CONSTANTS):
            if top >> place & 1:
                total ^= constant
    return total
