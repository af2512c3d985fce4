"""`talops rotate proxmox-token`: two tokens work until the new one is proven and stored.

The lab creates and removes tokens as pve-access-control does; tests/recordings has its answers.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from talops.app.access.proxmox_token import OLD, replace_token
from talops.app.proxmox_login import TOKEN_ID, TOKEN_VALUE
from talops.errors import TalopsError
from talops.inventory.load import load
from talops.proxmox import accounts
from talops.proxmox.answers import LoginError
from talops.proxmox.client import Client, Token
from talops.redaction import Secret
from talops.site.site import ClosedSite

if TYPE_CHECKING:
    from tests.proxmox.conftest import Lab

EXAMPLES = Path(__file__).parents[2] / "examples"
USER, NOW = "ci@pve", datetime(2026, 5, 1, 12, tzinfo=UTC)


class MemoryVault:
    """The encrypted file; a write may be the last thing that happens."""

    def __init__(self, **values: Secret) -> None:
        self.values = values
        self.breaks = False

    async def read(self) -> dict[str, Secret]:
        return dict(self.values)

    async def write(self, values: dict[str, Secret], *, remove: Any = ()) -> list[str]:
        if self.breaks:
            raise TalopsError("cannot write: No space left on device")
        self.values = {k: v for k, v in {**self.values, **values}.items() if k not in remove}
        return [*values]


def start(lab: Lab) -> tuple[ClosedSite, MemoryVault, Token]:
    cluster = load(EXAMPLES / "dev").require()
    assert cluster.proxmox
    ca = str(lab.world.authority.certificate)
    proxmox = replace(cluster.proxmox, api_url=lab.endpoint, ca_file=ca)
    token = lab.token(("/", "Sys.Audit", 1), user=USER)
    kept = {TOKEN_ID: Secret(token.id), TOKEN_VALUE: token.value}
    site = ClosedSite(replace(cluster, proxmox=proxmox), EXAMPLES, {}, kept)
    return site, MemoryVault(**kept), token


async def works(lab: Lab, token: Token) -> bool:
    try:
        async with Client(lab.access(token)) as client:
            await client.get("version")
    except LoginError:
        return False
    return True


def stored(vault: MemoryVault) -> Token:
    return Token(vault.values[TOKEN_ID].reveal(), vault.values[TOKEN_VALUE])


async def test_the_new_one_works_and_the_old_one_does_not(lab: Lab) -> None:
    """Its name says whose it is; nothing of the rotation is left in the file."""
    site, vault, old = start(lab)
    done = await replace_token(site, lab.access(), vault, NOW)  # type: ignore[arg-type]
    assert done.new == f"{USER}!talops-{site.cluster.name}-20260501120000"
    assert done.removed == (old.id,)
    assert vault.values.keys() == {TOKEN_ID, TOKEN_VALUE}
    assert await works(lab, stored(vault))
    assert not await works(lab, old)


async def test_a_token_that_cannot_be_stored(lab: Lab) -> None:
    """The old one stays in use, and the next run removes what was not stored."""
    site, vault, old = start(lab)
    vault.breaks = True
    with pytest.raises(TalopsError, match="No space left"):
        await replace_token(site, lab.access(), vault, NOW)  # type: ignore[arg-type]
    assert await works(lab, old)
    vault.breaks = False
    later = NOW.replace(hour=13)
    done = await replace_token(site, lab.access(), vault, later)  # type: ignore[arg-type]
    assert len(done.removed) == 2
    async with Client(lab.access()) as root:
        assert [*await accounts.tokens(root, USER)] == [done.new.partition("!")[2]]


async def test_interrupted_before_the_removal(lab: Lab) -> None:
    """Only the removal is left; a token of another cluster of the same user stays."""
    site, vault, old = start(lab)
    async with Client(lab.access()) as root:
        await accounts.add_token(root, USER, "talops-other-20260101000000", "x")
        name = f"talops-{site.cluster.name}-20260430000000"
        value = await accounts.add_token(root, USER, name, "x")
    new = {TOKEN_ID: Secret(f"{USER}!{name}"), TOKEN_VALUE: value, OLD: Secret(old.id)}
    vault.values |= new
    done = await replace_token(site, lab.access(), vault, NOW)  # type: ignore[arg-type]
    assert (done.new, done.removed) == (f"{USER}!{name}", (old.id,))
    async with Client(lab.access()) as root:
        assert {*await accounts.tokens(root, USER)} == {name, "talops-other-20260101000000"}
