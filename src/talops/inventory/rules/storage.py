"""Datasets of a TrueNAS: valid names, properties and quotas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.inventory.rules import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation
    from talops.inventory.sections import TrueNasDataset

POOL = re.compile(r"[A-Za-z][\w.:-]*")
DATASET = re.compile(r"[A-Za-z0-9][\w.:-]*(/[A-Za-z0-9][\w.:-]*)*")
LONGEST_NAME = 200
PROPERTIES = {
    "compression": r"on|off|lz4|zstd(-(fast(-\d+)?|1?\d))?|gzip(-[1-9])?|zle|lzjb",
    "atime": "on|off",
    "sync": "standard|always|disabled",
    "recordsize": r"(?:512|[1248]K|16K|32K|64K|128K|256K|512K|[1248]M|16M)",
    "deduplication": "on|off|verify",
    "copies": "[123]",
    "exec": "on|off",
    "snapdir": "hidden|visible|disabled",
    "checksum": "on|off|fletcher2|fletcher4|sha256|sha512|skein|edonr|blake3",
    "acltype": "off|nfsv4|posix",
    "aclmode": "passthrough|restricted|discard",
    "comments": ".+",
}
EXAMPLES = {
    "comments": "for Talos",
    "compression": "zstd",
    "recordsize": "128K",
    "copies": "2",
    "checksum": "sha256",
}


def _datasets(inv: Inventory) -> list[TrueNasDataset]:
    given = inv.cluster.truenas
    return list(given.datasets or ()) if given else []


@rule("truenas-name")
def names(inv: Inventory) -> Iterator[Violation]:
    """A dataset name is relative to its pool, unique and valid for ZFS."""
    given = inv.cluster.truenas
    if given is None:
        return
    if not POOL.fullmatch(given.pool):
        yield (
            inv.at.cluster_value("truenas", "pool"),
            f"{given.pool!r} is not a pool name",
            "write only the pool, like tank; add datasets under datasets",
        )
    seen: set[str] = set()
    for index, dataset in enumerate(_datasets(inv)):
        problem = _name_problem(given.pool, dataset.name, seen)
        if problem:
            yield (inv.at.cluster_value("truenas", "datasets", index, "name"), *problem)
        seen.add(dataset.name)


def _name_problem(pool: str, name: str, seen: set[str]) -> tuple[str, str] | None:
    if name in seen:
        return f"{name} is listed twice", "remove one of the two"
    if name == pool or name.startswith(f"{pool}/"):
        return f"{name} repeats the pool", f"write {name.removeprefix(f'{pool}/')}, or another name"
    if not DATASET.fullmatch(name) or len(f"{pool}/{name}") > LONGEST_NAME:
        return f"{name!r} is not a dataset name", "write it like k8s/volumes"
    return None


@rule("truenas-property")
def properties(inv: Inventory) -> Iterator[Violation]:
    for index, dataset in enumerate(_datasets(inv)):
        for name, value in dataset.properties.items():
            at = ("truenas", "datasets", index, "properties", name)
            if name not in PROPERTIES:
                yield (
                    inv.at.cluster_key(*at),
                    f"{name} is not a supported property",
                    f"use one of {', '.join(PROPERTIES)}",
                )
            elif not _fits(name, value):
                example = EXAMPLES.get(name, PROPERTIES[name].partition("|")[0])
                yield (
                    inv.at.cluster_value(*at),
                    f"{value!r} is not a valid value of {name}",
                    f"write {name}: {example}" + (", or inherit" if name != "comments" else ""),
                )


def _fits(name: str, value: str) -> bool:
    if value.lower() == "inherit":
        return name != "comments"
    return bool(re.fullmatch(PROPERTIES[name], value, flags=re.IGNORECASE))


@rule("truenas-quota")
def quotas(inv: Inventory) -> Iterator[Violation]:
    """The quota of a parent applies to all its children."""
    listed = {dataset.name: dataset.quota for dataset in _datasets(inv)}
    for index, dataset in enumerate(_datasets(inv)):
        parts = dataset.name.split("/")
        above = [(name, listed.get(name)) for name in map("/".join, _prefixes(parts))]
        limits = [(name, quota) for name, quota in above if quota]
        for name, quota in limits:
            if dataset.quota and quota < dataset.quota:
                yield (
                    inv.at.cluster_value("truenas", "datasets", index, "quota"),
                    f"quota {dataset.quota} of {dataset.name} exceeds quota {quota} of {name}",
                    f"use at most {quota}, or increase the quota of {name}",
                )


def _prefixes(parts: list[str]) -> list[list[str]]:
    return [parts[:count] for count in range(1, len(parts))]
