"""talops rotate proxmox-token|state-password|age-key|deploy-key: credentials of other systems."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.options import Directory, Yes
from talops.cli.output import note

if TYPE_CHECKING:
    from talops.app.access.successors import Switched
    from talops.app.opening import Keys

AcceptOutage = Annotated[
    bool, typer.Option("--accept-outage", help="Rotate although something stops working.")
]


def add_to(app: typer.Typer) -> None:
    app.command("proxmox-token")(proxmox_token)
    app.command("state-password")(state_password)
    app.command("age-key")(age_key)
    app.command("deploy-key")(deploy_key)


def proxmox_token(
    directory: Directory = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Administrator, like root@pam.")
    ] = None,
    yes: Yes = False,
) -> None:
    """Create, try and store another Proxmox token, then remove the old one."""
    from talops.app.access.proxmox_token import replace_token
    from talops.app.access.successors import vault_of
    from talops.app.proxmox_login import TOKEN_ID
    from talops.cli.host.access import access_to, place_of
    from talops.cli.opening import with_credentials, with_keys

    site = with_credentials(place_of(directory))
    admin = access_to(site, user)
    old = site.credentials.get(TOKEN_ID)
    _confirm(f"remove {old.reveal() if old else 'the old token'} from Proxmox afterwards", yes=yes)

    async def work(keys: Keys) -> Any:
        return await replace_token(site, admin, vault_of(keys.sops), datetime.now(UTC))

    done = with_keys(site.root, work)
    typer.echo(f"{done.new}: stored and in use")
    for token in done.removed:
        note(f"removed {token}")


def state_password(directory: Directory = None, accept_outage: AcceptOutage = False) -> None:
    """Replace the password of the state server once the server knows the new one."""
    import secrets

    from talops.app.access import successors
    from talops.cli.opening import closed_site, with_credentials, with_keys
    from talops.errors import ConflictError
    from talops.redaction import Secret

    assert directory is not None
    if not accept_outage:
        raise ConflictError(
            "a user of the state server has one password: from the change at the server until "
            "this command has run again and its result is pushed, every other checkout is denied",
            hint="talops rotate state-password --accept-outage; without an outage: create another "
            "user on the server, then talops secrets set tfstate_username and tfstate_password",
        )
    site = with_credentials(closed_site(directory))

    async def work(keys: Keys) -> Switched:
        return await successors.state_password(
            site, successors.vault_of(keys.sops), lambda: Secret(secrets.token_urlsafe(32))
        )

    done = with_keys(site.root, work)
    _tell(
        done,
        "the password",
        f"talops secrets get {successors.STATE_PASSWORD}{successors.NEXT} shows it; set it on the "
        "server with talops state user rotate NAME --password-file -, then run this command again",
    )


def deploy_key(directory: Directory = None) -> None:
    """Replace the deploy key of Flux once the Git server knows the new one."""
    from talops.app.access import successors
    from talops.cli.opening import site_of

    assert directory is not None
    site = site_of(directory)
    done = asyncio.run(successors.deploy_key(site))
    typer.echo(successors.public_part(site.cluster, done.value))
    _tell(
        done,
        "the deploy key",
        "add the public key above to the Git server, then run the same command again",
    )
    if done.switched:
        note("next: talops up --only gitops; then remove the old key from the Git server")


def age_key(directory: Directory = None) -> None:
    """Encrypt every file with a new age key, as talops secrets rotate does."""
    from talops.cli.secrets.commands import rotate

    rotate(directory, recipients_only=False, cluster=False, yes=False)


def _tell(done: Switched, what: str, advice: str) -> None:
    if done.created:
        note(f"created {what}; the old one stays in use")
    if done.switched:
        note(f"{what} works and is in use; commit infrastructure/secrets.sops.yaml")
        return
    assert done.refusal is not None
    note(f"{what} is not accepted yet: {done.refusal.what}")
    note(f"next: {advice}")
    raise typer.Exit(1)


def _confirm(what: str, *, yes: bool) -> None:
    from talops.errors import TalopsError

    if yes:
        return
    if not sys.stdin.isatty():
        raise TalopsError(f"confirmation required to {what}", hint="add --yes")
    typer.confirm(f"{what[:1].upper()}{what[1:]}?", abort=True, err=True)
