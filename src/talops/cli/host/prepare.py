"""`talops host prepare`: print the steps, or apply them one by one."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import typer

from talops.app import hosts
from talops.cli.host.access import access_to
from talops.cli.opening import open_keys, with_credentials
from talops.cli.output import note

if TYPE_CHECKING:
    from talops.app.hosts import Done
    from talops.proxmox.client import Access
    from talops.proxmox.prepare import PrepareOptions
    from talops.site.site import ClosedSite


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
    steps = asyncio.run(hosts.missing(with_credentials(site), access, asked))
    for step in steps:
        typer.echo(f"would {step.words}")
    if not steps:
        note("nothing is missing")
    return bool(steps)


def run(site: ClosedSite, asked: PrepareOptions, user: str | None, *, show_token: bool) -> None:
    access = access_to(site, user)
    asyncio.run(_prepare(with_credentials(site), access, asked, show_token=show_token))
    note("next: talops host check")


async def _prepare(
    site: ClosedSite, access: Access, asked: PrepareOptions, *, show_token: bool
) -> None:
    from talops.cli.host.commands import show

    steps = await hosts.missing(site, access, asked)
    async for done in hosts.prepare(access, steps, partial(open_keys, site.root)):
        _report(site, done, show_token=show_token)
    if not steps:
        note("nothing was missing")
    show(await hosts.remarks(access, asked))


def _report(site: ClosedSite, done: Done, *, show_token: bool) -> None:
    typer.echo(f"done: {done.what}")
    if done.stored is None or done.value is None:
        return
    if site.cluster.credentials.get(done.stored.id_name):
        note(
            "cluster.yaml also sets a token, which takes precedence: remove "
            f"{done.stored.id_name} there"
        )
    if show_token:
        typer.echo(f"{done.stored.token_id}={done.value.reveal()}")
