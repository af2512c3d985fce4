"""`talops host prepare`: the steps, and where the new token is stored."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from talops.app.proxmox_login import with_token
from talops.cli.host.access import access_to
from talops.cli.opening import with_credentials, with_keys
from talops.cli.output import note
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.app.opening import Keys
    from talops.proxmox.client import Access
    from talops.proxmox.prepare import Account, PrepareOptions, Step
    from talops.redaction import Secret
    from talops.site.site import ClosedSite

# What prepare cannot fix and reports at its end.
HARDWARE = frozenset({"bridge", "vlan", "iommu", "gpu", "mapping", "host", "storage"})


def print_lines(asked: PrepareOptions) -> None:
    from talops.proxmox.prepare import nothing, plan

    typer.echo('# Run on a Proxmox host as root. Ignore "already exists".')
    for step in plan(asked, nothing()):
        typer.echo(step.line)
    for storage, kinds in asked.wanted.content_types().items():
        typer.echo(f"# storage {storage} must allow: {', '.join(sorted(kinds))} (pvesm set)")
    for each in asked.accounts:
        typer.echo(
            f"# then: talops secrets set {each.id_name} ({each.token_id}), "
            f"talops secrets set {each.value_name}"
        )


def dry_run(site: ClosedSite, asked: PrepareOptions, user: str | None) -> bool:
    access = access_to(site, user)
    steps = asyncio.run(_planned(access, _with_kept(site, asked)))
    for step in steps:
        typer.echo(f"would {step.words}")
    if not steps:
        note("nothing is missing")
    return bool(steps)


def run(site: ClosedSite, asked: PrepareOptions, user: str | None, *, show_token: bool) -> None:
    access = access_to(site, user)
    asked = _with_kept(site, asked)
    steps = asyncio.run(_planned(access, asked))
    if any(step.kind == "token" for step in steps):
        _prove_vault(site)
    for step in steps:
        value = asyncio.run(_do(access, step))
        typer.echo(f"done: {step.words}")
        if value and step.account:
            # At once: Proxmox shows it only now.
            _keep(site, step.account, value)
            if show_token:
                typer.echo(f"{step.name}={value.reveal()}")
    if not steps:
        note("nothing was missing")
    asyncio.run(_remarks(access, asked))
    note("next: talops host check")


def _with_kept(site: ClosedSite, asked: PrepareOptions) -> PrepareOptions:
    """An existing token is kept only if the available value belongs to it."""
    kept = with_credentials(site).credentials
    works = {
        each.token_id
        for each in asked.accounts
        if (name := kept.get(each.id_name))
        and (value := kept.get(each.value_name))
        and name.reveal() == each.token_id
        and asyncio.run(_works(site, each.token_id, value))
    }
    return replace(asked, kept_token=asked.token_id in works, kept_plugins=frozenset(works))


async def _works(site: ClosedSite, token_id: str, value: Secret) -> bool:
    from talops.proxmox.answers import LoginError
    from talops.proxmox.client import Client

    try:
        async with Client(with_token(site, token_id, value)) as client:
            await client.get("version")
    except LoginError:
        return False
    return True


async def _planned(access: Access, asked: PrepareOptions) -> list[Step]:
    from talops.proxmox.client import Client
    from talops.proxmox.prepare import look, plan

    async with Client(access) as client:
        return plan(asked, await look(client, asked))


async def _do(access: Access, step: Step) -> Secret | None:
    from talops.proxmox.client import Client
    from talops.proxmox.prepare import do

    async with Client(access) as client:
        return await do(client, step)


def _prove_vault(site: ClosedSite) -> None:
    """Do not create a token whose value cannot be stored: Proxmox shows it once."""
    from talops.secrets.vault import FILE

    async def encrypt(keys: Keys) -> None:
        await keys.sops.encrypt("probe: yes\n", keys.sops.root / FILE)

    try:
        with_keys(site.root, encrypt)
    except TalopsError as error:
        raise TalopsError(
            f"the new token cannot be stored: {error.what}",
            where=error.where or str(FILE),
            hint="talops secrets init",
        ) from error


def _keep(site: ClosedSite, account: Account, value: Secret) -> None:
    from talops.redaction import Secret
    from talops.secrets.vault import FILE, Vault

    values = {account.id_name: Secret(account.token_id), account.value_name: value}
    with_keys(site.root, lambda found: Vault.of(found.sops).write(values))
    typer.echo(f"done: store the token in {FILE} (encrypted)")
    if site.cluster.credentials.get(account.id_name):
        note(
            f"cluster.yaml also sets a token, which takes precedence: remove {account.id_name} "
            "there"
        )


async def _remarks(access: Access, asked: PrepareOptions) -> None:
    from talops.cli.host.commands import show
    from talops.proxmox.check import look, problems

    facts = await look(access, asked.wanted)
    show([each for each in problems(asked.wanted, facts) if each.rule in HARDWARE])
