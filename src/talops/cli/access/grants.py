"""talops access: short-lived kubeconfigs and talosconfigs for colleagues and CI jobs."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import console, note, print_json
from talops.cli.streams import own

if TYPE_CHECKING:
    from talops.app.access.granting import Granted

app = typer.Typer(no_args_is_help=True, help="Grant short-lived access, and list the grants.")
STDOUT = Path("-")
NOT_REVOCABLE = (
    "A client certificate cannot be revoked: it is valid until it expires, or until the CA is "
    "rotated (talops rotate)."
)


class Api(StrEnum):
    KUBERNETES = "kubernetes"
    TALOS = "talos"


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="access")


@app.command()
def grant(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who gets access, like alice.")],
    to: Annotated[
        Path, typer.Option("--to", metavar="FILE", help="File to write, mode 0600 (- for stdout).")
    ],
    api: Annotated[Api, typer.Option("--api", help="The API to reach.")] = Api.KUBERNETES,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            help="ClusterRole, such as view, or a role of Talos, such as os:reader.",
            show_default="view or os:reader",
        ),
    ] = "",
    life: Annotated[
        str, typer.Option("--for", metavar="TIME", help="Validity, like 8h or 30d.")
    ] = "8h",
    directory: Directory = None,
) -> None:
    """Write a short-lived kubeconfig or talosconfig for someone else."""
    from talops.app.access import granting
    from talops.cli.opening import inventory_of
    from talops.cli.talos.secrets import load_bundle
    from talops.errors import ConflictError

    assert directory is not None
    root = directory.resolve()
    if to != STDOUT and to.exists():
        raise ConflictError("already exists; it is not overwritten", where=str(to))
    cluster, bundle = inventory_of(root), load_bundle(root, None)
    when = granting.Life(datetime.now(UTC), _time(life))
    if api is Api.TALOS:
        made = granting.grant_talos(root, cluster, bundle, name, role or "os:reader", when)
    else:
        made = granting.grant_kubernetes(root, cluster, bundle, name, role or "view", when)
    if made.binding is not None:
        asyncio.run(granting.bind(cluster, bundle, made.binding, when.start))
    _hand_over(made, to)


def _hand_over(made: Granted, to: Path) -> None:
    from talops.files import PRIVATE, write_atomic

    if to == STDOUT:
        own(sys.stdout).write(made.config.reveal())
    else:
        write_atomic(to, made.config.reveal(), mode=PRIVATE, guarded=True)
    role = f"{made.grant.role} of the {made.grant.api} API"
    note(f"granted {role} to {made.grant.name} until {made.grant.expires}")
    note(NOT_REVOCABLE)
    if made.binding is not None:
        binding = made.binding["metadata"]["name"]
        note(f"To take its rights away earlier: kubectl delete clusterrolebinding {binding}")


@app.command("list")
def list_(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """List grants, and whether each is still valid."""
    from talops.app.access import ledger
    from talops.app.access.authorities import authorities
    from talops.cli.talos.secrets import load_bundle

    assert directory is not None
    root = directory.resolve()
    grants, now = ledger.read(root), datetime.now(UTC)
    known = authorities(load_bundle(root, None)) if grants else {}
    if output is Format.JSON:
        from dataclasses import asdict

        rows = [{**asdict(each), "state": each.state(now, known)} for each in grants]
        print_json({"version": 1, "grants": rows})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in ("name", "API", "role", "granted by", "expires", "state"):
        table.add_column(title)
    for each in grants:
        row = (each.name, each.api, each.role, each.by, each.expires, each.state(now, known))
        table.add_row(*row)
    console().print(table)
    note(NOT_REVOCABLE)


def _time(text: str) -> timedelta:
    """Also days, unlike the timeouts of the inventory."""
    import re

    from talops.errors import TalopsError

    units = {"m": "minutes", "h": "hours", "d": "days"}
    found = re.fullmatch(r"([0-9]{1,6})([mhd])", text.strip())
    if not found:
        raise TalopsError(
            f"{text!r} is not a time", where="--for", hint="for example: 30m, 8h or 30d"
        )
    return timedelta(**{units[found[2]]: int(found[1])})
