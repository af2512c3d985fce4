"""Files that cluster.yaml names lie inside the directory of the inventory, as it does itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from talops.problems import FileProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.parse import Inventory

Key = tuple[str | int, ...]

_KEYS = (
    ("proxmox_ca_file",),
    ("image_factory_ca_file",),
    ("state", "ca_file"),
    ("truenas", "ca_file"),
    ("gitops", "ca_file"),
    ("gitops", "known_hosts"),
    ("gitops", "path"),
    ("cni", "values"),
)
# Public certificates of this machine.
_SYSTEM = tuple(
    Path(folder)
    for folder in (
        "/etc/ca-certificates",
        "/etc/pki",
        "/etc/ssl/certs",
        "/usr/local/share/ca-certificates",
        "/usr/share/ca-certificates",
    )
)


def named_file_problems(inv: Inventory, directory: Path) -> list[FileProblem]:
    root = directory.resolve()
    return [
        FileProblem("named-file", inv.at.cluster_value(*key), *wrong)
        for key, name in _named(inv)
        if (wrong := _wrong(root, key, name))
    ]


def _wrong(root: Path, key: Key, name: str) -> tuple[str, str] | None:
    """What is wrong with this file, and what to write instead."""
    target = (root / name).resolve()
    if target.is_relative_to(root):
        return None
    if str(key[-1]).endswith("ca_file") and any(target.is_relative_to(each) for each in _SYSTEM):
        return None
    return f"{name} is outside this directory", "copy it into this directory"


def _named(inv: Inventory) -> Iterator[tuple[Key, str]]:
    for key in _KEYS:
        value: Any = inv.cluster
        for part in key:
            value = getattr(value, part, None)
        if isinstance(value, str):
            yield key, value
    for index, gate in enumerate(inv.cluster.gates or ()):
        if gate.job:
            yield ("gates", index, "job"), gate.job
    for name, release in (inv.cluster.releases or {}).items():
        if release.ca_file:
            yield ("releases", name, "ca_file"), release.ca_file
