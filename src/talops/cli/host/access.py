"""The login of a `talops host` command; a password is asked for, never an argument."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from talops.proxmox.client import Access
    from talops.redaction import Secret
    from talops.site.site import ClosedSite


def place_of(directory: Path | None) -> ClosedSite:
    """A site that has Proxmox hosts."""
    from talops.app.proxmox_login import proxmox_of
    from talops.cli.opening import closed_site

    assert directory is not None
    site = closed_site(directory)
    proxmox_of(site)
    return site


def access_to(site: ClosedSite, user: str | None = None) -> Access:
    from talops.app import proxmox_login
    from talops.cli.tools.progress import progress

    asked = proxmox_login.user_to_ask(site, user)
    password = ask_password(asked) if asked else None
    with progress() as emit:
        return asyncio.run(proxmox_login.access_to(site, emit, user, password))


def ask_password(user: str) -> Secret:
    """From a hidden prompt, or one line of stdin."""
    from talops.redaction import Secret

    if sys.stdin.isatty():
        return Secret(str(typer.prompt(f"Password of {user}", hide_input=True, err=True)))
    return Secret(sys.stdin.readline().rstrip("\n"))
