"""Read and replace one entry of a kubeconfig file that several clusters share."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography import x509
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops import quickyaml
from talops.errors import TalopsError
from talops.shapes import misfit

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

SECTIONS = ("clusters", "users", "contexts")
_SHAPE = {
    "clusters?": [{"name": str, "cluster?": {}}],
    "users?": [{"name": str, "user?": {}}],
    "contexts?": [{"name": str, "context?": {}}],
}


@dataclass(frozen=True)
class Entry:
    """The content of one context, without its key."""

    server: str
    ca: str | None
    certificate: str

    def expires(self) -> datetime:
        return x509.load_pem_x509_certificate(self.certificate.encode()).not_valid_after_utc


def entry(path: Path, context: str) -> Entry | None:
    """None if the file or the context does not exist."""
    document = _read(path)
    found = _named(document, "contexts", context)
    if found is None:
        return None
    names = found.get("context") or {}
    cluster = _named(document, "clusters", names.get("cluster", "")) or {}
    user = _named(document, "users", names.get("user", "")) or {}
    inner = cluster.get("cluster") or {}
    try:
        ca = inner.get("certificate-authority-data")
        certificate = (user.get("user") or {})["client-certificate-data"]
        return Entry(inner["server"], _decode(ca) if ca else None, _decode(certificate))
    except (KeyError, TypeError, ValueError):
        return None  # an entry in another format: replaced by ours


def merge(path: Path, text: str, *, context: str, server: str) -> str:
    """The file with the entries of `text` under our own names; everything else unchanged."""
    document, given = _read(path), _parse(text, "the kubeconfig from the control plane")
    if any(not given.get(section) for section in SECTIONS) or not given["clusters"][0].get(
        "cluster"
    ):
        raise TalopsError("the kubeconfig from the control plane has no cluster, user or context")
    names = {"clusters": context, "users": f"admin@{context}", "contexts": context}
    fresh = {section: dict(given[section][0], name=name) for section, name in names.items()}
    fresh["clusters"]["cluster"] = {**fresh["clusters"]["cluster"], "server": server}
    fresh["contexts"]["context"] = {"cluster": context, "user": names["users"]}
    for section, name in names.items():
        others = [item for item in document.get(section) or [] if item.get("name") != name]
        document[section] = [*others, fresh[section]]
    document |= {"apiVersion": "v1", "kind": "Config", "current-context": context}
    return _dump(document)


def without(path: Path, context: str) -> str | None:
    """The file without our entries; None if it has no other entries."""
    document = _read(path)
    for section, name in zip(SECTIONS, (context, f"admin@{context}", context), strict=True):
        document[section] = [i for i in document.get(section) or [] if i.get("name") != name]
    if not any(document[section] for section in SECTIONS):
        return None
    if document.get("current-context") == context:
        document["current-context"] = ""
    return _dump(document)


def _read(path: Path) -> dict[str, Any]:
    try:
        return _parse(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(f"cannot be read: {error}", where=str(path)) from error


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        document = quickyaml.load(text) or {}
    except YAMLError as error:
        raise TalopsError(
            f"invalid YAML: {str(error).splitlines()[0]}",
            where=where,
            hint="correct or move the file, then run the same command again",
        ) from None
    if wrong := misfit(document, _SHAPE):
        raise TalopsError(f"not a kubeconfig: {wrong}", where=where)
    return document


def _named(document: dict[str, Any], section: str, name: str) -> dict[str, Any] | None:
    return next((item for item in document.get(section) or [] if item.get("name") == name), None)


def _decode(encoded: str) -> str:
    return base64.b64decode(encoded, validate=True).decode()


def _dump(document: dict[str, Any]) -> str:
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 1_000_000
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue()
