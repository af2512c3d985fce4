"""Password hashes: scrypt, with its cost in the hash so that it can increase later."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets

# 32 MB and three passes: as expensive to guess as the usual 128 MB, with a quarter of the memory.
_LOG_N, _R, _P = 15, 8, 3
_SALT = 16
_LENGTH = 32


def make_password() -> str:
    return secrets.token_urlsafe(24)


def hash_password(password: str, *, log_n: int = _LOG_N, p: int = _P) -> str:
    salt = os.urandom(_SALT)
    digest = _scrypt(password, salt, log_n, _R, p)
    return f"scrypt${log_n}${_R}${p}${_b64(salt)}${_b64(digest)}"


def decoy_hash() -> str:
    """A hash without a password, as expensive to verify as a real one."""
    return f"scrypt${_LOG_N}${_R}${_P}${_b64(os.urandom(_SALT))}${_b64(os.urandom(_LENGTH))}"


def verify_password(password: str, stored: str) -> bool:
    """Constant time for a given cost; ValueError if the hash is malformed."""
    kind, log_n, r, p, salt, digest = stored.split("$")
    if kind != "scrypt":
        raise ValueError(f"unknown password hash {kind}")
    found = _scrypt(password, base64.b64decode(salt), int(log_n), int(r), int(p))
    return hmac.compare_digest(found, base64.b64decode(digest))


def _scrypt(password: str, salt: bytes, log_n: int, r: int, p: int) -> bytes:
    n = 1 << log_n
    memory = 128 * n * r + 1024 * 1024 * p
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=memory, dklen=_LENGTH)


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
