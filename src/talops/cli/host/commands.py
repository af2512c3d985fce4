"""`talops host`: prepare and check the Proxmox hosts of a cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.errors import DifferencesFoundError, PreflightError, TalopsError

if TYPE_CHECKING:
    from talops.proxmox.check import Facts
    from talops.proxmox.check.problem import HostProblem

app = typer.Typer(help="Prepare and check Proxmox hosts through the API.", no_args_is_help=True)

User = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="USER@REALM",
        help="Log in as this user with a password instead of a token.",
    ),
]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="host")


@app.command()
def check(directory: Directory = None, user: User = None, output: Output = Format.TEXT) -> None:
    """Check that the hosts meet the requirements, with fixes; exit 4 if not."""
    from talops.app import hosts
    from talops.cli.host.access import access_to, place_of
    from talops.cli.opening import with_credentials

    site = place_of(directory)
    access = access_to(site, user)
    if hosts.tokens_of_plugins(site):
        site = with_credentials(site)
    facts, found = asyncio.run(hosts.check(site, access))
    wrong = [each for each in found if each.severity == "error"]
    if output is Format.JSON:
        print_json(_as_json(facts, found, ok=not wrong))
    else:
        show(found)
        note(_summary(facts, len(wrong), len(found) - len(wrong)))
    if wrong:
        raise typer.Exit(PreflightError.exit_code)


def _as_json(facts: Facts, found: list[HostProblem], *, ok: bool) -> dict[str, object]:
    from talops.proxmox.facts import Unread

    return {
        "version": 1,
        "ok": ok,
        "endpoint": facts.endpoint,
        "user": facts.who,
        "proxmox": None if isinstance(facts.version, Unread) else facts.version,
        "findings": [_row(each) for each in found],
    }


def _row(found: HostProblem) -> dict[str, str]:
    return {
        "rule": found.rule,
        "severity": str(found.severity),
        "what": found.what,
        "where": found.where,
        "fix": found.hint,
    }


def show(found: list[HostProblem]) -> None:
    """The problem, then its fix; each command is on a line of its own to be copied."""
    for each in found:
        place = f" ({each.where})" if each.where else ""
        typer.echo(f"{each.severity}: {each.what}{place}")
        first, *more = each.hint.split("\n")
        typer.echo(f"  fix: {first}")
        for line in more:
            typer.echo(f"       {line}")


def _summary(facts: Facts, wrong: int, remarks: int) -> str:
    if wrong:
        return f"{wrong} failed, {remarks} to review"
    remark = f"; {remarks} to review" if remarks else ""
    return f"ok: Proxmox VE {facts.version} at {facts.endpoint} as {facts.who}{remark}"


@app.command()
def prepare(
    directory: Directory = None,
    user: User = None,
    account: Annotated[
        str, typer.Option("--account", help="Proxmox user to create for talops.")
    ] = "talops@pve",
    token_name: Annotated[  # the token's name, not its value
        str, typer.Option("--token-name", help="Name of the user's API token.")
    ] = "talops",  # noqa: S107
    gpu: Annotated[
        list[str] | None,
        typer.Option(
            "--gpu",
            metavar="NAME=ADDRESS",
            help="PCI address of a GPU mapping (NAME=ADDRESS); repeatable.",
        ),
    ] = None,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Replace the token if it exists.")
    ] = False,
    show_token: Annotated[
        bool, typer.Option("--show-token", help="Also print the value of the new token.")
    ] = False,
    print_: Annotated[
        bool, typer.Option("--print", help="Print shell commands for the host; change nothing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what is missing; exit 2 if anything.")
    ] = False,
) -> None:
    """Create roles, user, token, ACLs and GPU mappings, and enable storage content."""
    from talops.cli.host import prepare as host_prepare
    from talops.cli.host.access import place_of
    from talops.proxmox.prepare import PrepareOptions
    from talops.site.proxmox.wanted import wanted

    site = place_of(directory)
    asked = PrepareOptions(wanted(site.cluster), account, token_name, _gpus(gpu), new_token)
    if print_:
        host_prepare.print_lines(asked)
    elif dry_run:
        if host_prepare.dry_run(site, asked, user):
            raise typer.Exit(DifferencesFoundError.exit_code)
    else:
        host_prepare.run(site, asked, user, show_token=show_token)


def _gpus(given: list[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in given or []]
    wrong = next((name for name, found, _ in pairs if not found), None)
    if wrong:
        raise TalopsError(
            f"--gpu {wrong} does not have an address", hint=f"--gpu {wrong}=0000:01:00.0"
        )
    return {name: address for name, _, address in pairs}
