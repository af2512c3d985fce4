"""Check and prepare the Proxmox hosts of a site; a new token is stored encrypted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from talops.app.proxmox_login import with_token
from talops.errors import TalopsError
from talops.proxmox.answers import LoginError
from talops.proxmox.check import look, plugin_problems, problems
from talops.proxmox.client import Client
from talops.proxmox.plugins import plugins
from talops.proxmox.prepare import do, plan
from talops.proxmox.prepare import look as existing_access
from talops.redaction import Secret
from talops.secrets.vault import FILE, Vault
from talops.site.proxmox.wanted import wanted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from talops.app.opening import Keys
    from talops.proxmox.check import Facts
    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.client import Access
    from talops.proxmox.prepare import Account, PrepareOptions, Step
    from talops.site.site import ClosedSite

    OpenKeys = Callable[[], Awaitable[Keys]]

# What a preparation cannot fix.
HARDWARE = frozenset({"bridge", "vlan", "iommu", "gpu", "mapping", "host", "storage"})


@dataclass(frozen=True)
class Done:
    """One finished step. `stored`: a new token, whose `value` the encrypted file contains now."""

    what: str
    stored: Account | None = None
    value: Secret | None = None


def tokens_of_plugins(site: ClosedSite) -> bool:
    """Whether `check` tries tokens, so that it needs the credentials of the site."""
    return bool(plugins(wanted(site.cluster)))


async def check(site: ClosedSite, access: Access) -> tuple[Facts, list[HostProblem]]:
    """What the hosts must have for this cluster."""
    asked = wanted(site.cluster)
    facts = await look(access, asked)
    found = problems(asked, facts)
    if tokens_of_plugins(site):
        found += await plugin_problems(asked, site.credentials, partial(with_token, site))
    return facts, found


async def missing(site: ClosedSite, access: Access, asked: PrepareOptions) -> list[Step]:
    """The steps to apply, in order; the credentials of `site` say which tokens can stay."""
    known = await _with_known(site, asked)
    async with Client(access) as client:
        return plan(known, await existing_access(client, known))


async def prepare(
    access: Access, steps: Sequence[Step], open_keys: OpenKeys
) -> AsyncIterator[Done]:
    """Apply each step; a new token is stored at once, because Proxmox shows it only now."""
    if any(step.kind == "token" for step in steps):
        await _prove_vault(open_keys)
    for step in steps:
        async with Client(access) as client:
            value = await do(client, step)
        yield Done(step.words)
        if value and step.account:
            await _store(step.account, value, open_keys)
            yield Done(f"store the token in {FILE} (encrypted)", step.account, value)


async def remarks(access: Access, asked: PrepareOptions) -> list[HostProblem]:
    """What remains to do at the hosts themselves."""
    facts = await look(access, asked.wanted)
    return [each for each in problems(asked.wanted, facts) if each.rule in HARDWARE]


async def _with_known(site: ClosedSite, asked: PrepareOptions) -> PrepareOptions:
    """An existing token is kept only if the available value belongs to it."""
    given = site.credentials
    works = {
        each.token_id
        for each in asked.accounts
        if (name := given.get(each.id_name))
        and (value := given.get(each.value_name))
        and name.reveal() == each.token_id
        and await _works(site, each.token_id, value)
    }
    return replace(asked, kept_token=asked.token_id in works, kept_plugins=frozenset(works))


async def _works(site: ClosedSite, token_id: str, value: Secret) -> bool:
    try:
        async with Client(with_token(site, token_id, value)) as client:
            await client.get("version")
    except LoginError:
        return False
    return True


async def _prove_vault(open_keys: OpenKeys) -> None:
    """Do not create a token whose value cannot be stored."""
    try:
        keys = await open_keys()
        await keys.sops.encrypt("probe: yes\n", keys.sops.root / FILE)
    except TalopsError as error:
        raise TalopsError(
            f"the new token cannot be stored: {error.what}",
            where=error.where or str(FILE),
            hint="talops secrets init",
        ) from error


async def _store(account: Account, value: Secret, open_keys: OpenKeys) -> None:
    values = {account.id_name: Secret(account.token_id), account.value_name: value}
    await Vault.of((await open_keys()).sops).write(values)
