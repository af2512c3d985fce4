"""Secrets that all nodes of a cluster share: another value is refused before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.machineconfig import authority_changes, key_changes
from talops.machineconfig.documents.secret_parts import in_main_document
from talops.machineconfig.key_changes import ENCRYPTION as _ENCRYPTION
from talops.machineconfig.key_changes import encryption_keys as _keys
from talops.machineconfig.patches.identity import identify
from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Document = dict[str, Any]

# Where each secret is up to 1.13, what it is, and what another value breaks.
SHARED = {
    "machine.token": ("machine token", "workers would get no certificates for their Talos API"),
    "cluster.id": ("cluster id", "nodes would not find each other"),
    "cluster.secret": ("cluster secret", "nodes would not find each other"),
    "cluster.token": ("bootstrap token", "kubelets could not join"),
    "cluster.aggregatorCA.crt": ("aggregator CA", "API servers would reject their extensions"),
    "cluster.serviceAccount.key": (
        "service account key",
        "the tokens of all pods would become invalid at the same moment",
    ),
    "cluster.etcd.ca.crt": ("etcd CA", "etcd members would reject each other"),
    "cluster.secretboxEncryptionSecret": (
        "secretbox encryption key",
        "API servers could not read the Secrets that are stored in etcd",
    ),
    "cluster.aescbcEncryptionSecret": (
        "aescbc encryption key",
        "API servers could not read the Secrets that are stored in etcd",
    ),
}
# CAs may change in one direction, through a rotation.
AUTHORITIES = {
    "machine.ca": ("Talos CA", "nodes and administrators would reject each other"),
    "cluster.ca": ("Kubernetes CA", "kubelets and API servers would reject each other"),
}


@dataclass(frozen=True)
class OtherSecret:
    """A secret that the node runs and the wanted config does not have; never its value."""

    path: str
    name: str
    breaks: str


def other_secrets(before: Sequence[Document], after: Sequence[Document]) -> tuple[OtherSecret, ...]:
    """In the order of the table. A secret that the node does not have yet may be added."""
    old, new = _whole(before), _whole(after)
    rotated = {*key_changes.accepted(before, after)}
    found = [
        OtherSecret(path, name, breaks)
        for path, (name, breaks) in SHARED.items()
        if (running := at(old, path)) and running != at(new, path) and path not in rotated
    ]
    return (*_authorities(before, after), *found, *_lost_keys(before, after))


def _authorities(before: Sequence[Document], after: Sequence[Document]) -> Iterator[OtherSecret]:
    for path, why in authority_changes.changes(before, after):
        name, breaks = AUTHORITIES[path]
        undone = why == "undone"
        yield OtherSecret(f"{path}.crt", name, authority_changes.UNDONE if undone else breaks)


def _whole(documents: Sequence[Document]) -> Document:
    """The main document with the secrets of all others."""
    main = next((d for d in documents if identify(d).is_main), {})
    return in_main_document(main, list(documents))


def _lost_keys(before: Sequence[Document], after: Sequence[Document]) -> Iterator[OtherSecret]:
    """Keys of Talos' own names are in the table; an administrator may have added others. A rotation
    drops a key that is not the first one any more.
    """
    breaks = SHARED["cluster.secretboxEncryptionSecret"][1]
    new = {(provider, name): secret for provider, name, secret in _keys(after)}
    for place, (provider, name, secret) in enumerate(_keys(before)):
        dropped = place > 0 and key_changes.OWN.fullmatch(name)
        if name in key_changes.FIRST or dropped:
            continue
        if new.get((provider, name)) != secret:
            yield OtherSecret(_ENCRYPTION, f"encryption key {provider} {name}", breaks)
