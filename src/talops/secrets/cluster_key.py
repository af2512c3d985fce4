"""The identity of the cluster: it opens what Flux applies, and nothing else of the repository.

Its private half is a value of the encrypted credentials, so that every operator of the cluster can
store it in the cluster again. During its rotation there are two of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.vault import FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.redaction import Secret

CURRENT, NEXT = "cluster_age_key", "cluster_age_key_next"
# The first folder of the path that Flux applies, unless the inventory says otherwise.
FOLDER = "kubernetes"
# Their files are for the operator alone.
_OPERATOR = ("infrastructure", "talos", "bootstrap")


@dataclass(frozen=True)
class ClusterKey:
    """`goal` is the identity that the cluster gets; `old` is the one that it replaces."""

    goal: AgeKey
    old: AgeKey | None = None

    @property
    def ring(self) -> KeyRing:
        return KeyRing((self.goal,))

    @property
    def recipients(self) -> frozenset[str]:
        return frozenset({self.goal.recipient, *([self.old.recipient] if self.old else [])})


def cluster_key(values: Mapping[str, Secret]) -> ClusterKey | None:
    """None in a repository whose cluster still holds the key of its operator."""
    current = _parsed(values, CURRENT)
    if current is None:
        return None
    following = _parsed(values, NEXT)
    return ClusterKey(following, current) if following else ClusterKey(current)


def flux_folder(path: str) -> str:
    """The folder that the key of the cluster opens, for the path that Flux applies."""
    first = next((part for part in PurePosixPath(path).parts if part != "."), "")
    if first in {"", "..", "/", *_OPERATOR}:
        raise TalopsError(
            f"gitops.path {path} has no folder of its own that only the cluster's key opens",
            where="cluster.yaml",
            hint=f"use a path below {FOLDER}/, like {FOLDER}/flux/cluster",
        )
    return first


def is_inside(name: str, folder: str) -> bool:
    return name.startswith(f"{folder}/")


def _parsed(values: Mapping[str, Secret], name: str) -> AgeKey | None:
    value = values.get(name)
    if not value:
        return None
    try:
        return AgeKey.parse(value.reveal())
    except ValueError as error:
        raise TalopsError(
            f"{name} is not an age secret key: {error}",
            where=str(FILE),
            hint="restore the value from Git; the cluster's Secret sops-age contains it, too",
        ) from None
