"""Whether the etcd of a Talos release can start from a snapshot. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.errors import ConflictError

if TYPE_CHECKING:
    from talops.backups.manifest import Manifest

# The etcd that a minor release of Talos runs by default.
_ETCD = {12: (3, 6), 13: (3, 6), 14: (3, 7)}
_MINOR = re.compile(r"v?[0-9]+\.([0-9]+)")
_STORAGE = re.compile(r"([0-9]+)\.([0-9]+)")


def require_restorable(manifest: Manifest, talos_version: str) -> None:
    """An older etcd refuses the storage of a newer one; before 3.6 a snapshot names none.

    A cluster may run another etcd than its Talos brings: what made the backup can read it.
    """
    minor, made = _minor(talos_version), _minor(manifest.versions.talos)
    runs = _ETCD.get(minor)
    found = _STORAGE.match(manifest.snapshot.storage_version)
    if runs is None or found is None or made <= minor:
        return
    needs = (int(found[1]), int(found[2]))
    if needs > runs:
        raise ConflictError(
            f"this backup is of etcd {needs[0]}.{needs[1]}, and Talos {talos_version} runs etcd "
            f"{runs[0]}.{runs[1]}, which cannot read it",
            where=manifest.id,
            hint=f"set talos_version: {manifest.versions.talos} in cluster.yaml, the version that "
            "made it, or use an older backup: talops backup list",
        )


def _minor(version: str) -> int:
    found = _MINOR.match(version)
    return int(found[1]) if found else 0
