"""The Git repository of a cluster: its first files, its deploy key, and pinned releases."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.delivery.releases import digest, download
from talops.errors import TalopsError
from talops.files import write_atomic
from talops.gitops import deploykey
from talops.gitops.catalog import known
from talops.gitops.skeleton import skeleton
from talops.redaction import Secret
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from talops.app.opening import Keys
    from talops.gitops.catalog import Source
    from talops.inventory.model import Cluster, Repository


@dataclass(frozen=True)
class FirstFile:
    """A file of the repository; `kept` if it existed."""

    path: str
    kept: bool


def repository_of(cluster: Cluster) -> Repository:
    if cluster.repository is None:
        raise TalopsError(
            "the inventory does not name a Git repository",
            where="cluster.yaml",
            hint="add repository_name: owner/name",
        )
    return cluster.repository


async def write_skeleton(
    root: Path, repository: Repository, keys: Keys
) -> AsyncIterator[FirstFile]:
    """Write what Flux applies first; an existing file is kept."""
    for file in skeleton(repository, Secret(secrets.token_hex(16))):
        path = root / file.path
        if path.exists():
            yield FirstFile(file.path, kept=True)
            continue
        sealed = await keys.sops.encrypt(file.text, path) if file.sealed else file.text
        write_atomic(path, sealed)
        yield FirstFile(file.path, kept=False)


async def deploy_key(cluster: Cluster, keys: Keys) -> tuple[str, bool]:
    """The public half, and whether the key was created now."""
    vault = Vault.of(keys.sops)
    key = (await vault.read()).get(deploykey.VAULT_NAME)
    created = key is None
    if key is None:
        key = deploykey.generate()
        await vault.write({deploykey.VAULT_NAME: key})
    return deploykey.public_part(key, f"talops {cluster.name}"), created


async def pins(cluster: Cluster, root: Path, names: Sequence[str]) -> list[tuple[Source, str]]:
    """Each release with the digest of its download, which its published checksum confirms."""
    found = []
    for name in names:
        own = cluster.releases.get(name)
        source = known(name)
        if own:
            source = replace(source, version=own.version, url=own.url, ca_file=own.ca_file)
        found.append((source, digest(await download(source, root))))
    return found
