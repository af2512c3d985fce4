"""Replace the Proxmox token: a second one is created, proven and stored, then the old one removed.

Both work until the end. Proxmox shows a token only once: one that was not stored is removed by the
next run, which recognizes it by its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.app.proxmox_login import TOKEN_ID, TOKEN_VALUE, with_token
from talops.errors import ConflictError, TalopsError
from talops.proxmox import accounts
from talops.proxmox.client import Client
from talops.redaction import Secret

if TYPE_CHECKING:
    from datetime import datetime

    from talops.proxmox.client import Access
    from talops.secrets.vault import Vault
    from talops.site.site import ClosedSite

OLD = f"{TOKEN_ID}_old"


@dataclass(frozen=True)
class Replaced:
    new: str
    removed: tuple[str, ...]


async def replace_token(site: ClosedSite, admin: Access, vault: Vault, now: datetime) -> Replaced:
    """`admin` must be allowed to create tokens for the user."""
    kept = await vault.read()
    identity = kept.get(TOKEN_ID)
    if identity is None:
        raise TalopsError(
            "the encrypted file has no Proxmox token", where=TOKEN_ID, hint="talops host prepare"
        )
    if TOKEN_ID in site.cluster.credentials:
        raise ConflictError(
            "cluster.yaml sets the token, which takes precedence over the encrypted file",
            where="cluster.yaml",
            hint="talops secrets import",
        )
    user, _, present = identity.reveal().partition("!")
    async with Client(admin) as proxmox:
        if OLD not in kept:  # otherwise only the removal is left of an interrupted run
            name = f"talops-{site.cluster.name}-{now:%Y%m%d%H%M%S}"
            value = await accounts.add_token(proxmox, user, name, f"talops {site.cluster.name}")
            await _prove(site, f"{user}!{name}", value)
            stored = {TOKEN_ID: Secret(f"{user}!{name}"), TOKEN_VALUE: value, OLD: identity}
            await vault.write(stored)
            present = name
        old = (await vault.read()).get(OLD, identity).reveal().partition("!")[2]
        found = await accounts.tokens(proxmox, user)
        # Never the tokens of another cluster of the same user.
        ours = re.compile(rf"talops-{re.escape(site.cluster.name)}-[0-9]{{14}}")
        gone = [t for t in found if t != present and (t == old or ours.fullmatch(t))]
        for token in gone:
            await accounts.remove_token(proxmox, user, token)
    await vault.write({}, remove=[OLD])
    return Replaced(f"{user}!{present}", tuple(f"{user}!{token}" for token in gone))


async def _prove(site: ClosedSite, identity: str, value: Secret) -> None:
    async with Client(with_token(site, identity, value)) as proxmox:
        await proxmox.get("version")
