"""Paths of a cluster's secrets and configs below the inventory directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, PreflightError

if TYPE_CHECKING:
    from pathlib import Path

SEALED = "talos/talsecret.sops.yaml"
PLAIN = "talos/talsecret.yaml"  # mode 0600, ignored by git
CONFIGS = "talos/clusterconfig"
TALOSCONFIG = f"{CONFIGS}/talosconfig"


@dataclass(frozen=True)
class Stored:
    """The file with the secrets; `sealed`: encrypted with SOPS."""

    path: Path
    sealed: bool


def find_secrets(directory: Path) -> Stored | None:
    """None: the cluster has no secrets yet. Two files are an error; talops does not guess."""
    present = [
        Stored(directory / name, sealed)
        for name, sealed in ((SEALED, True), (PLAIN, False))
        if (directory / name).exists()
    ]
    if len(present) > 1:
        raise ConflictError(
            f"both {SEALED} and {PLAIN} are there",
            where=str(directory / "talos"),
            hint="compare them, keep the one that the cluster uses, and move the other away",
        )
    return present[0] if present else None


def require_secrets(directory: Path) -> Stored:
    found = find_secrets(directory)
    if found is None:
        raise PreflightError(
            "the cluster has no secrets yet",
            where=str(directory / SEALED),
            hint="talops talos gen-secrets",
        )
    return found


def new_secrets(directory: Path, *, sealed: bool) -> Stored:
    """The path for new secrets. Secrets are never overwritten: without them the cluster is lost."""
    found = find_secrets(directory)
    if found is not None:
        raise ConflictError(
            "the cluster already has secrets; they are never overwritten",
            where=str(found.path),
            hint="to create a new cluster with this name, move this file away first",
        )
    return Stored(directory / (SEALED if sealed else PLAIN), sealed)
