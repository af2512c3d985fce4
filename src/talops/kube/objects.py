"""References to objects, and manifests split into objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ruamel.yaml.error import YAMLError

from talops import quickyaml
from talops.errors import TalopsError

Object = dict[str, Any]
# Kinds that others refer to come first; kinds not listed here come in the middle.
_FIRST = ("Namespace", "CustomResourceDefinition", "PriorityClass", "ServiceAccount", "Secret")
_LAST = ("APIService", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


@dataclass(frozen=True)
class Ref:
    """A reference to one object."""

    api_version: str
    kind: str
    name: str
    namespace: str | None = None

    @classmethod
    def of(cls, obj: Object) -> Ref:
        meta = obj["metadata"]
        return cls(obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


def read_manifest(text: str, where: str) -> list[Object]:
    """The objects of a multi-document text, with lists expanded, in the order to apply."""
    try:
        documents = quickyaml.load_all(text)
    except YAMLError as error:
        raise TalopsError(f"invalid YAML: {str(error).splitlines()[0]}", where=where) from None
    objects: list[Object] = []
    for document in documents:
        if document is None:
            continue
        objects += document.get("items", []) if _is_list(document) else [document]
    for obj in objects:
        _check(obj, where)
    return sorted(objects, key=_order)


def _is_list(document: Any) -> bool:
    return isinstance(document, dict) and str(document.get("kind", "")).endswith("List")


def _check(obj: Any, where: str) -> None:
    named = isinstance(obj, dict) and obj.get("apiVersion") and obj.get("kind")
    if not named or not (obj.get("metadata") or {}).get("name"):
        raise TalopsError("a document lacks apiVersion, kind or metadata.name", where=where)


def _order(obj: Object) -> int:
    kind = obj["kind"]
    if kind in _FIRST:
        return _FIRST.index(kind)
    return len(_FIRST) + (1 + _LAST.index(kind) if kind in _LAST else 0)
