"""talops init: create a commented inventory."""

from __future__ import annotations

import sys
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory
from talops.cli.output import note
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.inventory.samples import Answers

LARGEST = 9


def register(root: typer.Typer) -> None:
    root.command("init")(init)


def init(
    directory: Directory = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the cluster.")] = None,
    cidr: Annotated[str | None, typer.Option("--cidr", help="Network of the nodes.")] = None,
    control_planes: Annotated[
        int | None,
        typer.Option(
            "--control-planes", help="Number of control planes: 1, 3 or 5.", min=1, max=LARGEST
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Number of workers.", min=0, max=LARGEST)
    ] = None,
    proxmox_url: Annotated[
        str | None, typer.Option("--proxmox-url", help="Proxmox API, like https://pve:8006.")
    ] = None,
    proxmox_node: Annotated[
        str | None, typer.Option("--proxmox-node", help="Proxmox node for the VMs.")
    ] = None,
    bare_metal: Annotated[
        bool, typer.Option("--bare-metal", help="Create an inventory without Proxmox.")
    ] = False,
) -> None:
    """Create cluster.yaml and nodes.yaml interactively; never overwrites files."""
    from talops.inventory.samples import Answers
    from talops.inventory.support import NEW_CLUSTER_KUBERNETES, NEW_CLUSTER_TALOS

    assert directory is not None
    if not bare_metal:
        proxmox_url = _ask("Proxmox API", proxmox_url, "https://pve.example:8006")
        proxmox_node = _ask("Proxmox node", proxmox_node, "pve")
    answers = Answers(
        name=_ask("Name of the cluster", name, "home"),
        cidr=_network(_ask("Network of the nodes", cidr, "10.0.0.0/24")),
        control_planes=int(_ask("Control planes", _text(control_planes), "3")),
        workers=int(_ask("Workers", _text(workers), "2")),
        talos_version=NEW_CLUSTER_TALOS,
        kubernetes_version=NEW_CLUSTER_KUBERNETES,
        proxmox_url=proxmox_url,
        proxmox_node=proxmox_node,
    )
    _write(directory, answers)


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _ask(question: str, given: str | None, default: str) -> str:
    if given is not None:
        return given
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return default
    answer: str = typer.prompt(question, default=default, err=True)
    return answer


def _network(text: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except ValueError as error:
        raise TalopsError(
            f"{text} is not a network: {error}", hint="talops init --cidr 10.0.0.0/24"
        ) from error


def _write(directory: Path, answers: Answers) -> None:
    from talops.app.creating import create_inventory

    for file in create_inventory(directory, answers):
        if file.kept:
            note(f"kept  {file.path} (already exists)")
        else:
            private = " (private: back it up, never commit it)" if file.private else ""
            typer.echo(f"wrote {file.path}{private}")
    note("next: talops check, then talops secrets init, then talops configure")
