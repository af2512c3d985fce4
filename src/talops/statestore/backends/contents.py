"""The content of a state by address; never a value, because values are often secrets."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from talops.statestore.documents import header_of


@dataclass(frozen=True, slots=True)
class Contents:
    """`resources` and `outputs` map an address to a digest of its values."""

    serial: int
    lineage: str
    encrypted: bool
    resources: dict[str, str]
    outputs: dict[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def empty(self) -> bool:
        return not (self.added or self.removed or self.changed)


def contents_of(data: bytes) -> Contents:
    header = header_of(data)
    document = json.loads(data)
    resources = {
        address: _digest(instance)
        for resource in document.get("resources") or []
        for address, instance in _instances(resource)
    }
    outputs = {name: _digest(value) for name, value in (document.get("outputs") or {}).items()}
    return Contents(header.serial, header.lineage, "encrypted_data" in document, resources, outputs)


def compare(old: Contents, new: Contents) -> Difference:
    before = {**old.resources, **{f"output.{k}": v for k, v in old.outputs.items()}}
    after = {**new.resources, **{f"output.{k}": v for k, v in new.outputs.items()}}
    return Difference(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(k for k in before.keys() & after.keys() if before[k] != after[k])),
    )


def _instances(resource: dict[str, Any]) -> list[tuple[str, Any]]:
    parts = [resource.get("module"), "data" if resource.get("mode") == "data" else None]
    base = ".".join([*filter(None, parts), str(resource.get("type")), str(resource.get("name"))])
    found = []
    for instance in resource.get("instances") or []:
        key = instance.get("index_key")
        found.append((base if key is None else f"{base}[{json.dumps(key)}]", instance))
    return found


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
