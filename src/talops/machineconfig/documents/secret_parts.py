"""Copy the secrets of a 1.14 config to where the main document has them up to 1.13."""

from __future__ import annotations

from typing import Any

from talops.machineconfig.secrets import pem
from talops.machineconfig.validation.view import View, at

Document = dict[str, Any]
_IDENTITY = {"id": "clusterID", "secret": "clusterSecret"}
_PAIRS = {"ca": "KubeAPIServerCAConfig", "aggregatorCA": "KubeAggregatorCAConfig"}
# Providers of the encryption at rest, by the key names that Talos uses.
_KEYS = {
    "secretbox": ("key2", "secretboxEncryptionSecret"),
    "aescbc": ("key1", "aescbcEncryptionSecret"),
}


def in_main_document(main: Document, documents: list[Document]) -> Document:
    """`main` with missing values filled in; existing values stay."""
    view = View(main, tuple(d for d in documents if d is not main))
    found: Document = {}
    for document in view.kind("DiscoveryIdentityConfig"):
        found |= {key: document.get(name) for key, name in _IDENTITY.items()}
    for key, kind in _PAIRS.items():
        for document in view.kind(kind):
            pair = document.get("issuingCA") or {}
            found[key] = {"crt": _one_line(pair.get("cert")), "key": _one_line(pair.get("key"))}
    for document in view.kind("KubeServiceAccountConfig"):
        found["serviceAccount"] = {"key": _one_line(at(document, "issuer.privateKey"))}
    for document in view.kind("KubeEtcdEncryptionConfig"):
        found |= _encryption_keys(document)
    if not found:
        return main
    given = {key: value for key, value in view.cluster.items() if value}
    return {**main, "cluster": found | given}


def _one_line(text: Any) -> str:
    return pem.one_line(str(text).encode()) if text else ""


def _encryption_keys(document: Document) -> Document:
    found: Document = {}
    for resource in at(document, "config.resources") or []:
        for provider in resource.get("providers") or []:
            for name, (key_name, field) in _KEYS.items():
                for key in (provider.get(name) or {}).get("keys") or []:
                    if key.get("name") == key_name:
                        found[field] = key.get("secret")
    return found
