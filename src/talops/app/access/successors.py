"""Credentials of other systems: a new one is proven to work before it replaces the old one.

1. the encrypted file gets the new one beside the old one, which stays in use
2. the other system learns it: by an administrator, or by talops itself
3. the new one is tried; only if it works, it takes the place of the old one

After an interruption the same command continues with the new one that is in the file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.delivery import handover
from talops.delivery.gitrepo import snapshot
from talops.errors import ConflictError, DeniedError, TalopsError
from talops.gitops import deploykey
from talops.secrets.vault import Vault
from talops.site.state.backends import backend_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.inventory.model import Cluster
    from talops.redaction import Secret
    from talops.secrets.sops import Sops
    from talops.site.site import ClosedSite, Site

    Prove = Callable[[Secret], Awaitable[None]]

NEXT = "_next"
STATE_PASSWORD = "tfstate_password"  # noqa: S105  (the name of a value)


@dataclass(frozen=True)
class Switched:
    """`value` is the new one; `switched` if it is in use now, else why not."""

    value: Secret
    created: bool
    refusal: TalopsError | None = None

    @property
    def switched(self) -> bool:
        return self.refusal is None


async def succeed(vault: Vault, name: str, make: Callable[[], Secret], prove: Prove) -> Switched:
    """A refusal of the other system is expected: it does not know the new one yet."""
    kept = await vault.read()
    if name not in kept:
        raise TalopsError(f"{name} is not in the secrets", where=str(vault.file))
    value, created = kept.get(name + NEXT), False
    if value is None:
        value, created = make(), True
        await vault.write({name + NEXT: value})
    try:
        await prove(value)
    except DeniedError as error:
        return Switched(value, created, error)
    await vault.write({name: value}, remove=[name + NEXT])
    return Switched(value, created)


def vault_of(sops: Sops) -> Vault:
    """The encrypted file with the credentials of talops."""
    return Vault.of(sops)


async def deploy_key(site: Site) -> Switched:
    """Flux uses it from the next `talops up` on."""
    repository = site.cluster.repository
    if repository is None or repository.credentials != "deploy-key":
        raise ConflictError(
            "Flux does not read the repository with a deploy key",
            where="cluster.yaml",
            hint="talops secrets set, for a token",
        )
    access = handover.access(site, repository)
    if access is None:
        raise TalopsError("the deploy key does not exist yet", hint="talops gitops deploy-key")

    async def prove(value: Secret) -> None:
        async with snapshot(replace(access, key=value)):
            return

    return await succeed(vault_of(site.sops), deploykey.VAULT_NAME, deploykey.generate, prove)


def public_part(cluster: Cluster, value: Secret) -> str:
    return deploykey.public_part(value, f"talops {cluster.name}")


async def state_password(site: ClosedSite, vault: Vault, make: Callable[[], Secret]) -> Switched:
    if site.cluster.state.kind != "http":
        raise ConflictError(
            f"states of kind {site.cluster.state.kind} have no password of a state server",
            where="cluster.yaml",
            hint="keys of S3: create another pair, then talops secrets set tfstate_username and "
            "tfstate_password",
        )

    async def prove(value: Secret) -> None:
        tried = replace(site, credentials={**site.credentials, STATE_PASSWORD: value})
        backend = backend_of(tried)
        try:
            await backend.overview()
        finally:
            await backend.close()

    return await succeed(vault, STATE_PASSWORD, make, prove)
