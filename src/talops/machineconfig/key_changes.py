"""Which keys of a running control plane may change since contract 1.14: those that a rotation has
introduced before, and that leave the old one accepted. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig.secrets import pem
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Document = dict[str, Any]

ENCRYPTION = "KubeEtcdEncryptionConfig"
SERVICE_ACCOUNT = "KubeServiceAccountConfig"
# Names of Talos and of rotations; an administrator may have added others.
OWN = re.compile(r"key[0-9]+")
FIRST = frozenset({"key1", "key2"})
_AT_REST = ("cluster.secretboxEncryptionSecret", "cluster.aescbcEncryptionSecret")


def accepted(before: Sequence[Document], after: Sequence[Document]) -> Iterator[str]:
    """Paths, as up to contract 1.13, whose change loses nothing."""
    if _account_accepted(before, after):
        yield "cluster.serviceAccount.key"
    if _first_key_stays(before, after):
        yield from _AT_REST


def encryption_keys(documents: Sequence[Document]) -> Iterator[tuple[str, str, str]]:
    """(provider, name, secret) of every key of the document; the first one encrypts."""
    for document in documents:
        if document.get("kind") != ENCRYPTION:
            continue
        for resource in at(document, "config.resources") or []:
            for entry in resource.get("providers") or []:
                for provider, content in entry.items():
                    for key in (content or {}).get("keys") or []:
                        yield provider, str(key.get("name")), str(key.get("secret"))


def _first_key_stays(before: Sequence[Document], after: Sequence[Document]) -> bool:
    """All that was written with the first key stays readable; the others are only dropped while
    the first one stays the first: then nothing is encrypted with them any more.
    """
    old, new = [*encryption_keys(before)], [*encryption_keys(after)]
    if not old or not new or old[0] not in new:
        return False
    kept = all(key in new for key in old)
    return kept or new[0] == old[0]


def _account_accepted(before: Sequence[Document], after: Sequence[Document]) -> bool:
    """Tokens of both keys are valid before and afterwards."""
    (old, known), (new, kept) = _account(before), _account(after)
    return bool(old and new) and new in known and old in kept


def _account(documents: Sequence[Document]) -> tuple[str, frozenset[str]]:
    """The public key of the one in use, and those that are accepted."""
    for document in documents:
        if document.get("kind") == SERVICE_ACCOUNT:
            texts = at(document, "accepted.publicKeys") or []
            try:
                own = pem.public_pem(str(at(document, "issuer.privateKey") or ""))
            except TalopsError:  # the validation says so
                return "", frozenset()
            return own.strip(), frozenset(str(text).strip() for text in texts)
    return "", frozenset()
