"""Local state files and their private, timestamped copies."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from talops.render.layers import layers

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from talops.inventory.model import Cluster
    from talops.statestore.backends.local import LocalBackend

BACKUPS = Path(".talops/state")


def local_backend(root: Path, cluster: Cluster) -> LocalBackend:
    """State files next to the layers, regardless of the backend in the inventory."""
    from talops.statestore.backends.local import LocalBackend
    from talops.statestore.model import Retention

    _rename_copies(root / BACKUPS, cluster)
    files = {layer.state: root / layer.directory / "terraform.tfstate" for layer in layers(cluster)}
    keep = Retention(cluster.state.backups, cluster.state.backup_days)
    return LocalBackend(files, root / BACKUPS, keep)


def _rename_copies(folder: Path, cluster: Cluster) -> None:
    """Copies of layer 01 from before its state had the name of the cluster."""
    from talops.render.layers import HYPERVISORS, hypervisors

    old, new = folder / HYPERVISORS, folder / hypervisors(cluster).state
    if old.is_dir() and not new.exists():
        old.rename(new)


def copies_around(root: Path, cluster: Cluster | None) -> AbstractContextManager[None]:
    """Copies of local state files before and after the enclosed operation."""
    if cluster is None or cluster.state.kind != "local":
        return nullcontext()
    return local_backend(root, cluster).around()
