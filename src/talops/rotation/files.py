"""Renew kubeconfig and talosconfig from the secrets, without a node: expiry does not matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.kube import kubeconfig_file
from talops.machineconfig.places import CONFIGS, TALOSCONFIG
from talops.machineconfig.secrets import talosconfig
from talops.machineconfig.secrets.kubeconfig import admin_kubeconfig
from talops.machineconfig.secrets.pki import CLIENT_LIFETIME
from talops.talosconfig import Talosconfig

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle


@dataclass(frozen=True)
class Renewed:
    """A file with a new certificate."""

    path: str
    expires: datetime


def renew_kubeconfig(path: Path, cluster: Cluster, bundle: Bundle, now: datetime) -> Renewed:
    """Entries of other clusters are kept."""
    text = admin_kubeconfig(cluster.name, cluster.endpoint, bundle, now)
    merged = kubeconfig_file.merge(path, text, context=cluster.name, server=cluster.endpoint)
    write_atomic(path, merged, mode=PRIVATE, guarded=True)
    return Renewed(str(path), now + CLIENT_LIFETIME)


def renew_talosconfig(root: Path, cluster: Cluster, bundle: Bundle, now: datetime) -> Renewed:
    """Entries of other clusters are kept."""
    path, entry = root / TALOSCONFIG, talosconfig.context_of(cluster, bundle, now)
    present = Talosconfig(entry.name, {})
    if path.exists():
        present = talosconfig.parse(path.read_text(encoding="utf-8"), where=str(path))
    entries = {**present.contexts, entry.name: entry}
    text = talosconfig.dump(Talosconfig(present.context or entry.name, entries))
    make_private_directory(root / CONFIGS)
    # Regardless of the repository's own .gitignore: keys are never committed by accident.
    write_atomic(root / CONFIGS / ".gitignore", "*\n")
    write_atomic(path, text, mode=PRIVATE, guarded=True)
    return Renewed(TALOSCONFIG, talosconfig.expires(entry))
