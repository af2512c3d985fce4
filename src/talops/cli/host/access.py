"""Proxmox credentials: a token from the encrypted file or the environment, or a password."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from talops.errors import TalopsError
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Cluster, Proxmox
    from talops.proxmox.client import Access, Password, Token

TOKEN_ID, TOKEN_VALUE = "proxmox_api_token_id", "proxmox_api_token_secret"


@dataclass(frozen=True)
class Place:
    """An inventory and its Proxmox."""

    root: Path
    cluster: Cluster
    proxmox: Proxmox


def place_of(directory: Path | None) -> Place:
    from talops.cli.look.inventory_errors import load_or_report

    assert directory is not None
    root = directory.resolve()
    cluster = load_or_report(root)
    if cluster.proxmox is None:
        raise TalopsError(
            "this cluster is on bare metal: it has no Proxmox hosts",
            where="cluster.yaml",
            hint="add proxmox_api_url and proxmox_node",
        )
    return Place(root, cluster, cluster.proxmox)


def access_to(place: Place, user: str | None = None) -> Access:
    """`user` logs in with a password; otherwise use the available credentials."""
    return _access(place, _password(user) if user else _at_hand(place))


def with_token(place: Place, name: str, value: Secret) -> Access:
    from talops.proxmox.client import Token

    return _access(place, Token(name, value))


def _access(place: Place, login: Token | Password) -> Access:
    from talops.proxmox.client import Access

    proxmox = place.proxmox
    return Access(
        endpoint=os.environ.get("PROXMOX_VE_ENDPOINT") or proxmox.api_url,
        login=login,
        insecure=proxmox.insecure
        or os.environ.get("PROXMOX_VE_INSECURE", "").lower() in {"1", "true", "yes"},
        ca_file=str((place.root / proxmox.ca_file).resolve()) if proxmox.ca_file else None,
    )


def _at_hand(place: Place) -> Token | Password:
    from talops.proxmox.client import Token, token

    given = os.environ.get("PROXMOX_VE_API_TOKEN")
    if given:
        return token(given)
    if os.environ.get("PROXMOX_VE_USERNAME"):
        return _password(os.environ["PROXMOX_VE_USERNAME"])
    kept = credentials_of(place)
    if kept.keys() >= {TOKEN_ID, TOKEN_VALUE}:
        return Token(kept[TOKEN_ID].reveal(), kept[TOKEN_VALUE])
    raise TalopsError(
        "no credentials for Proxmox",
        where=str(place.root),
        hint="talops host prepare --user root@pam creates a token and stores it encrypted; or set "
        "PROXMOX_VE_API_TOKEN=user@realm!name=value",
    )


def credentials_of(place: Place) -> Mapping[str, Secret]:
    """From the encrypted file; values in a Git-ignored cluster.yaml take precedence."""
    from talops.secrets.vault import FILE, Vault

    kept: Mapping[str, Secret] = {}
    if (place.root / FILE).exists():
        from talops.cli.secrets.context import with_context

        kept = with_context(place.root, lambda found: Vault.of(found.sops).read())
    return {**kept, **place.cluster.credentials}


def _password(user: str) -> Password:
    """From the environment, a hidden prompt, or one line of stdin; never from an argument."""
    from talops.proxmox.client import Password

    if "@" not in user:
        raise TalopsError(f"{user!r} does not have a realm", hint=f"write {user}@pam or {user}@pve")
    given = os.environ.get("PROXMOX_VE_PASSWORD")
    if given is None and sys.stdin.isatty():
        given = str(typer.prompt(f"Password of {user}", hide_input=True, err=True))
    elif given is None:
        given = sys.stdin.readline().rstrip("\n")
    if not given:
        raise TalopsError(
            f"no password for {user}",
            hint="set PROXMOX_VE_PASSWORD, or run this on a terminal and type it",
        )
    return Password(user, Secret(given))
