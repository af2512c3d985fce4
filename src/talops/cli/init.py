"""talops init: create a commented inventory."""

from __future__ import annotations

import asyncio
import os
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
    from_proxmox: Annotated[
        str | None,
        typer.Option(
            "--from-proxmox",
            metavar="URL",
            help="Propose values from what this Proxmox has, with the reasons.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            metavar="USER@REALM",
            help="Log in to Proxmox as this user with a password instead of a token.",
        ),
    ] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option("--ca-file", help="CA of Proxmox, a file in the directory of the inventory."),
    ] = None,
) -> None:
    """Create cluster.yaml and nodes.yaml interactively; never overwrites files."""
    assert directory is not None
    given = (name, cidr, control_planes, workers)
    if from_proxmox:
        _propose(directory, from_proxmox, given, user, ca_file)
        return
    if not bare_metal:
        proxmox_url = _ask("Proxmox API", proxmox_url, "https://pve.example:8006")
        proxmox_node = _ask("Proxmox node", proxmox_node, "pve")
    _write(directory, _answers(given, proxmox_url, proxmox_node))


Given = tuple[str | None, str | None, int | None, int | None]


def _answers(given: Given, proxmox_url: str | None, proxmox_node: str | None) -> Answers:
    from talops.inventory.samples import Answers
    from talops.inventory.support import NEW_CLUSTER_KUBERNETES, NEW_CLUSTER_TALOS

    name, cidr, control_planes, workers = given
    return Answers(
        name=_ask("Name of the cluster", name, "home"),
        cidr=_network(_ask("Network of the nodes", cidr, "10.0.0.0/24")),
        control_planes=int(_ask("Control planes", _text(control_planes), "3")),
        workers=int(_ask("Workers", _text(workers), "2")),
        talos_version=NEW_CLUSTER_TALOS,
        kubernetes_version=NEW_CLUSTER_KUBERNETES,
        proxmox_url=proxmox_url,
        proxmox_node=proxmox_node,
    )


def _propose(directory: Path, url: str, given: Given, user: str | None, ca: Path | None) -> None:
    from talops.app.proposing.choose import Wish
    from talops.app.proposing.create import inside, propose_inventory
    from talops.app.proxmox_login import access_without_site, asked_user, is_insecure
    from talops.cli.host.access import ask_password

    name, cidr, control_planes, workers = given
    ca_file = inside(directory, ca) if ca else None
    asked = asked_user(os.environ, user)
    access = access_without_site(
        url.rstrip("/").removesuffix("/api2/json"),
        os.environ,
        user,
        ask_password(asked) if asked else None,
        str(directory / ca_file) if ca_file else None,
    )
    wish = Wish(
        url=access.endpoint,
        controllers=int(_ask("Control planes", _text(control_planes), "3")),
        workers=int(_ask("Workers", _text(workers), "2")),
        cidr=_network(cidr) if cidr else None,
        insecure=is_insecure(os.environ),
        ca_file=ca_file,
    )
    answers = asyncio.run(
        propose_inventory(access, wish, _ask("Name of the cluster", name, "home"))
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
    if answers.proposal:
        for text in answers.proposal.notes:
            note(text)
    prepare = "talops host prepare, then " if answers.proxmox_url else ""
    note(f"next: talops check, then talops secrets init, then {prepare}talops up")
