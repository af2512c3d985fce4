"""The header of an age file: one file key, wrapped for each recipient, and its MAC.

Only X25519 recipients are written; stanzas of other kinds are skipped when a header is read.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from typing import IO, TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from talops.errors import DeniedError, TalopsError
from talops.secrets import bech32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from talops.secrets.age import KeyRing

FILE_KEY = 16
_VERSION = b"age-encryption.org/v1\n"
_X25519 = b"age-encryption.org/v1/X25519"
_LINE, _LONGEST_LINE, _MOST_LINES = 64, 4096, 4096
_WRAPPED = FILE_KEY + 16
_ZERO = bytes(12)


class NotAgeError(TalopsError):
    """The file is not an encrypted file of age, or it was changed."""


def derive(key: bytes, salt: bytes, info: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt or None, info).derive(key)


def seal(file_key: bytes, recipients: Iterable[str]) -> bytes:
    """The header that lets each of these recipients read."""
    lines = [_VERSION]
    for recipient in recipients:
        lines += _wrap(file_key, bech32.decode(recipient)[1])
    head = b"".join(lines) + b"---"
    return head + b" " + _encode(_mac(file_key, head)) + b"\n"


def unseal(file: IO[bytes], keys: KeyRing, where: str) -> bytes:
    """The file key; the file is then positioned at its payload."""
    stanzas, head, mac = _read(file, where)
    for arguments, body in stanzas:
        file_key = _unwrap(arguments, body, keys)
        if file_key is None:
            continue
        if not hmac.compare_digest(_mac(file_key, head), mac):
            raise NotAgeError("the header of this encrypted file was changed", where=where)
        return file_key
    have = ", ".join(sorted(keys.recipients))
    raise DeniedError(
        f"this file is encrypted for other age keys than {have}",
        where=where,
        hint="put the matching key into age.key, or set SOPS_AGE_KEY_FILE",
    )


def _wrap(file_key: bytes, public: bytes) -> list[bytes]:
    ephemeral = X25519PrivateKey.generate()
    share = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public))
    key = derive(shared, share + public, _X25519)
    body = _encode(ChaCha20Poly1305(key).encrypt(_ZERO, file_key, None))
    return [b"-> X25519 " + _encode(share) + b"\n", body + b"\n"]


def _unwrap(arguments: list[bytes], body: bytes, keys: KeyRing) -> bytes | None:
    """None if this stanza is not for one of these keys."""
    if len(arguments) != 2 or arguments[0] != b"X25519" or len(body) != _WRAPPED:  # noqa: PLR2004
        return None
    share = _decode(arguments[1])
    if share is None or len(share) != 32:  # noqa: PLR2004  (the size of an X25519 key)
        return None
    for each in keys.keys:
        private = X25519PrivateKey.from_private_bytes(bech32.decode(each.identity.reveal())[1])
        public = private.public_key().public_bytes_raw()
        try:
            shared = private.exchange(X25519PublicKey.from_public_bytes(share))
            key = derive(shared, share + public, _X25519)
            return ChaCha20Poly1305(key).decrypt(_ZERO, body, None)
        except (InvalidTag, ValueError):  # for another key, or a share of low order
            continue
    return None


def _read(file: IO[bytes], where: str) -> tuple[list[tuple[list[bytes], bytes]], bytes, bytes]:
    """The stanzas, what the MAC is about, and the MAC."""
    lines = _lines(file, where)
    if next(lines) != _VERSION:
        raise NotAgeError("not an encrypted file of age", where=where)
    stanzas: list[tuple[list[bytes], bytes]] = []
    head = [_VERSION]
    for line in lines:
        if line.startswith(b"--- "):
            mac = _decode(line[4:-1])
            if mac is None:
                break
            return stanzas, b"".join(head) + b"---", mac
        if not line.startswith(b"-> "):
            break
        head.append(line)
        body = b""
        for part in lines:
            head.append(part)
            body += part[:-1]
            if len(part) <= _LINE:
                break
        decoded = _decode(body)
        if decoded is None:
            break
        stanzas.append((line[3:-1].split(b" "), decoded))
    raise NotAgeError("the header of this encrypted file is damaged", where=where)


def _lines(file: IO[bytes], where: str) -> Iterator[bytes]:
    for _ in range(_MOST_LINES):
        line = file.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise NotAgeError("not an encrypted file of age, or it is truncated", where=where)
        yield line
    raise NotAgeError("the header of this encrypted file does not end", where=where)


def _mac(file_key: bytes, head: bytes) -> bytes:
    return hmac.digest(derive(file_key, b"", b"header"), head, "sha256")


def _encode(data: bytes) -> bytes:
    return base64.b64encode(data).rstrip(b"=")


def _decode(text: bytes) -> bytes | None:
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except (ValueError, binascii.Error):
        return None
    return data if _encode(data) == text else None
