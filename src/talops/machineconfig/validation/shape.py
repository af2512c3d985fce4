"""Documents, kinds, fields and types that the strict decoder of Talos rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig.patches.fields import unknown_keys, wrong_kinds
from talops.machineconfig.patches.identity import Identity, fields_of, identify
from talops.machineconfig.schema.documents import NAMED, SINCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from talops.machineconfig.contract import Contract


def problems(documents: Sequence[Any], contract: Contract | None) -> Iterator[str]:
    seen: set[Identity] = set()
    for document in documents:
        if not isinstance(document, dict):
            yield "expected a YAML document that is a mapping"
            continue
        identity = identify(document)
        if identity in seen:
            yield f"duplicate document {_full(identity)} is not allowed"
        seen.add(identity)
        yield from (f"{identity}: {text}" for text in _document(document, identity, contract))


def _full(identity: Identity) -> str:
    return f"{identity.api_version}/{identity.kind}/{identity.name}"


def _document(
    document: dict[str, Any], identity: Identity, contract: Contract | None
) -> Iterator[str]:
    fields = fields_of(identity)
    if not identity.kind:
        yield "missing kind"
    elif not identity.is_main and identity.api_version != "v1alpha1":
        yield "missing apiVersion" if not identity.api_version else _unregistered(identity)
    elif fields is None:
        yield _unregistered(identity)
    else:
        if contract:
            yield from _too_new(document, identity.kind, contract)
        if identity.kind in NAMED and not identity.name:
            yield "name must be specified"
        unknown = unknown_keys(document, fields)
        if unknown:
            yield "unknown keys found during decoding: " + ", ".join(unknown)
        yield from wrong_kinds(document, fields)


def _too_new(document: dict[str, Any], kind: str, contract: Contract) -> Iterator[str]:
    for place, since in SINCE.items():
        if contract.numbers >= since.numbers:
            continue
        own, _, path = place.partition(".")
        if own == kind and (not path or _gives(document, path)):
            what = f"{path} is" if path else "this kind is"
            yield f"{what} supported from Talos {since} on, but this config is for {contract}"


def _gives(value: Any, path: str) -> bool:
    """Whether the field exists; in a list, in any item."""
    if isinstance(value, list):
        return any(_gives(item, path) for item in value)
    key, _, rest = path.partition(".")
    if not isinstance(value, dict) or key not in value:
        return False
    return _gives(value[key], rest) if rest else True


def _unregistered(identity: Identity) -> str:
    return f'"{identity.kind}" "{identity.api_version}": not registered'
