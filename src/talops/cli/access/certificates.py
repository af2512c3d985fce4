"""talops certificates: what expires when, and who renews it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import console, note, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from talops.app.access.model import Credential

app = typer.Typer(invoke_without_command=True)
_STYLES = {"expired": "bold red", "due": "yellow", "unknown": "yellow", "good": ""}


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="certificates")


@app.callback()
def overview(ctx: typer.Context, directory: Directory = None, output: Output = Format.TEXT) -> None:
    """List certificates, tokens and keys with their expiry, or renew them."""
    if ctx.invoked_subcommand is None:
        list_(directory, output)


@app.command("list")
def list_(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """List certificates, tokens and keys; exit 1 if one expires soon."""
    from talops.app.access.certificates import credentials
    from talops.app.access.model import wrong
    from talops.app.verifying import require_cluster
    from talops.cli.opening import site_of

    assert directory is not None
    site = site_of(directory)
    require_cluster(site)
    found, now = asyncio.run(credentials(site)), datetime.now(UTC)
    if output is Format.JSON:
        rows = [each.as_dict(now) for each in found]
        print_json({"version": 1, "cluster": site.cluster.name, "credentials": rows})
    else:
        console().print(_table(found, now))
    acting = wrong(found, now)
    for each in acting:
        note(f"{each.name}: {each.expiry(now)}\n  next: {each.how}")
    if acting:
        raise typer.Exit(1)


def _table(found: list[Credential], now: datetime) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in ("name", "where", "expires", "renewed by", "how"):
        table.add_column(title)
    for each in found:
        row = (each.name, each.where, each.expiry(now), each.renews, each.how)
        table.add_row(*row, style=_STYLES[each.level(now)])
    return table


@app.command()
def renew(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="kubeconfig, talosconfig; default: both."),
    ] = None,
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """Renew kubeconfig and talosconfig from the secrets, also when they have expired."""
    from talops.app.access.renewing import renew_kubeconfig, renew_talosconfig
    from talops.app.opening import kubeconfig_of
    from talops.cli.opening import closed_site
    from talops.cli.talos.secrets import load_bundle
    from talops.errors import TalopsError

    assert directory is not None
    names = what or ["kubeconfig", "talosconfig"]
    if unknown := [name for name in names if name not in {"kubeconfig", "talosconfig"}]:
        raise TalopsError(
            f"{unknown[0]} cannot be renewed by this command",
            hint="talops certificates list shows who renews what",
        )
    site, now = closed_site(directory), datetime.now(UTC)
    bundle = load_bundle(site.root, None)
    done = []
    if "kubeconfig" in names:
        done.append(renew_kubeconfig(kubeconfig_of(site), site.cluster, bundle, now))
    if "talosconfig" in names:
        done.append(renew_talosconfig(site.root, site.cluster, bundle, now))
    if output is Format.JSON:
        rows = [{"path": each.path, "expires": each.expires.isoformat()} for each in done]
        print_json({"version": 1, "renewed": rows})
        return
    for each in done:
        typer.echo(f"{each.path}: valid until {each.expires:%Y-%m-%d}")
