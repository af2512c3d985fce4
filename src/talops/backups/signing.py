"""Signatures of manifests and of records of drills: only who has the secrets can write them.

The key is derived from the cluster's secret, which is part of the secrets bundle and of nothing
else that a store of backups contains.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from talops.errors import DeniedError, TalopsError

if TYPE_CHECKING:
    from talops.redaction import Secret

_PURPOSE = b"talops backup v1"


class ForeignSignatureError(DeniedError):
    """Signed with the secrets of another cluster, or changed afterwards."""


@dataclass(frozen=True)
class Signed:
    """A document as it is stored: its content, and who signed it."""

    content: dict[str, Any]
    key: str
    signature: str

    def text(self) -> str:
        document = {"content": self.content, "key": self.key, "signature": self.signature}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


class Signer:
    def __init__(self, cluster_secret: Secret) -> None:
        seed = HKDF(SHA256(), 32, None, _PURPOSE).derive(cluster_secret.reveal().encode())
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self.key = base64.b64encode(self._private.public_key().public_bytes_raw()).decode()

    def sign(self, content: dict[str, Any]) -> Signed:
        signature = self._private.sign(_bytes(content))
        return Signed(content, self.key, base64.b64encode(signature).decode())

    def require(self, found: Signed, where: str) -> None:
        """Raise unless this cluster's secrets signed it."""
        if found.key != self.key:
            raise ForeignSignatureError(
                "this belongs to another cluster: it is signed with other secrets",
                where=where,
                hint="check store: of backup: in cluster.yaml, and talos/talsecret.sops.yaml",
            )
        public = Ed25519PublicKey.from_public_bytes(base64.b64decode(self.key))
        try:
            public.verify(base64.b64decode(found.signature), _bytes(found.content))
        except (InvalidSignature, ValueError):
            raise ForeignSignatureError(
                "this was changed after it was signed", where=where
            ) from None


def read_signed(data: bytes, where: str) -> Signed:
    """The document, its signature not yet checked."""
    try:
        found = json.loads(data)
        content, key, signature = found["content"], found["key"], found["signature"]
    except (ValueError, KeyError, TypeError, RecursionError):
        content = key = signature = None
    if not (isinstance(content, dict) and isinstance(key, str) and isinstance(signature, str)):
        raise TalopsError(
            "not a signed document of talops, or it is damaged",
            where=where,
            hint="use another backup: talops backup list",
        )
    return Signed(content, key, signature)


def _bytes(content: dict[str, Any]) -> bytes:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return _PURPOSE + b"\0" + text.encode()
