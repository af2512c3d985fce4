"""The identity of a document: its kind and name, and its allowed fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from talops.machineconfig.schema.cluster import MAIN
from talops.machineconfig.schema.documents import KINDS, KINDS_OF_1_14

if TYPE_CHECKING:
    from talops.machineconfig.contract import Contract
    from talops.machineconfig.schema.types import Struct

MAIN_KIND = "v1alpha1"
_MAIN_KEYS = frozenset({"version", "machine", "cluster", "debug", "persist"})


class Identity(NamedTuple):
    """Documents with equal identities are merged."""

    api_version: str
    kind: str
    name: str

    @property
    def is_main(self) -> bool:
        return self.kind == MAIN_KIND

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.name) if part)


def identify(document: dict[str, Any]) -> Identity:
    kind = str(document.get("kind") or "")
    if not kind and _MAIN_KEYS & document.keys():
        return Identity("", MAIN_KIND, "")
    name = str(document.get("name") or "")
    return Identity(str(document.get("apiVersion") or ""), kind, name)


def fields_of(identity: Identity, contract: Contract | None = None) -> Struct | None:
    """None for an unknown kind. The merge rules depend on the contract."""
    if identity.is_main:
        return MAIN
    newer = KINDS_OF_1_14 if contract and contract.splits_documents else {}
    return newer.get(identity.kind) or KINDS.get(identity.kind)
