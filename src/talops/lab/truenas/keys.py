"""API keys and their permissions: roles since 25.04, an allow list of HTTP methods before."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

INCLUDES = {
    "FULL_ADMIN": frozenset({"POOL_READ", "DATASET_READ", "DATASET_WRITE"}),
    "READONLY_ADMIN": frozenset({"POOL_READ", "DATASET_READ"}),
    "POOL_READ": frozenset({"POOL_READ"}),
    "DATASET_READ": frozenset({"DATASET_READ"}),
    "DATASET_WRITE": frozenset({"DATASET_READ", "DATASET_WRITE"}),
}
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_LENGTH = 64


@dataclass(frozen=True)
class ApiKey:
    id: int
    name: str
    username: str
    roles: tuple[str, ...]
    key: str

    def may(self, role: str) -> bool:
        return any(role in INCLUDES[own] for own in self.roles)

    def may_rest(self, verb: str) -> bool:
        """Readers can use GET; writers can use all methods of datasets."""
        return self.may("DATASET_READ" if verb == "GET" else "DATASET_WRITE")


def make_keys(seed: str) -> tuple[ApiKey, ...]:
    """The same at every start, like the lab's secret that it derives from."""
    rows = (
        (1, "talops", "truenas_admin", ("FULL_ADMIN",)),
        (2, "reader", "auditor", ("READONLY_ADMIN",)),
        (3, "nobody", "nobody", ()),
    )
    return tuple(
        ApiKey(n, name, user, roles, f"{n}-{_text(seed, n)}") for n, name, user, roles in rows
    )


def find(keys: tuple[ApiKey, ...], given: str) -> ApiKey | None:
    return next((key for key in keys if hmac.compare_digest(key.key, given)), None)


def _text(seed: str, number: int) -> str:
    data = b"".join(
        hashlib.sha256(f"truenas/{seed}/{number}/{part}".encode()).digest() for part in range(2)
    )
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in data)[:_LENGTH]
