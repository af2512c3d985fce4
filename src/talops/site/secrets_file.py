"""The cluster's secrets bundle: read once, kept in memory, created only if it does not exist."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.errors import ConflictError, PreflightError, TalopsError
from talops.files import PRIVATE, write_atomic
from talops.machineconfig.contract import Contract
from talops.machineconfig.places import PLAIN, SEALED
from talops.machineconfig.secrets import bundle as bundles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.redaction import Secret
    from talops.site.fleet import Fleet
    from talops.site.site import Site


class SecretsFile:
    """talos/talsecret.sops.yaml. `learn` receives every value, so that logs mask it."""

    def __init__(self, site: Site, learn: Callable[..., None]) -> None:
        self._site = site
        self._learn = learn
        self._read: Bundle | None = None
        self._fleet: Fleet | None = None
        # Stages observe in parallel: the first one opens the file, the others wait for it.
        self._reading = asyncio.Lock()

    async def read(self) -> Bundle | None:
        """None if the file does not exist; a file that cannot be opened is an error, never None."""
        async with self._reading:
            if self._read is None and (stored := find_secrets(self._site.root)):
                text = (
                    await self._site.sops.decrypt(stored.path)
                    if stored.sealed
                    else stored.path.read_text(encoding="utf-8")
                )
                self._keep(bundles.from_yaml(text, where=str(stored.path)))
            return self._read

    async def require(self) -> Bundle:
        found = await self.read()
        if found is None:
            raise TalopsError("the cluster has no secrets yet", hint="talops talos gen-secrets")
        return found

    async def fleet(self) -> Fleet:
        """Access to the nodes with these secrets: one certificate, shared by the whole run."""
        from talops.site.fleet import Fleet

        bundle = await self.require()
        self._fleet = self._fleet or Fleet(bundle)
        return self._fleet

    async def create(self) -> None:
        contract = Contract(self._site.cluster.talos_contract.removeprefix("v"))
        made = bundles.generate(datetime.now(UTC), contract)
        self._keep(made)
        target = new_secrets(self._site.root, sealed=True).path
        write_atomic(target, await self._site.sops.encrypt(made.to_yaml(), target), mode=PRIVATE)

    async def replace(self, wanted: Bundle) -> None:
        """Write other secrets for the same cluster, proven to be readable before they take the
        place of those before; connections are made with them from now on.
        """
        stored = require_secrets(self._site.root)
        text = wanted.to_yaml()
        if stored.sealed:
            text = await self._site.sops.encrypt(text, stored.path)
            opened = await self._site.sops.decrypt_text(text, stored.path)
            if bundles.from_yaml(opened, where=str(stored.path)) != wanted:
                raise TalopsError(
                    "the new secrets do not decrypt to what was written", where=str(stored.path)
                )
        write_atomic(stored.path, text, mode=PRIVATE, guarded=not stored.sealed)
        self._keep(wanted)
        self._fleet = None

    def _keep(self, found: Bundle) -> None:
        known: list[Secret] = list(found.secrets())
        self._learn(*known)
        self._read = found


@dataclass(frozen=True)
class SecretsPath:
    """`sealed`: encrypted with SOPS."""

    path: Path
    sealed: bool


def find_secrets(directory: Path) -> SecretsPath | None:
    """None: the cluster has no secrets yet. Two files are an error; talops does not guess."""
    present = [
        SecretsPath(directory / name, sealed)
        for name, sealed in ((SEALED, True), (PLAIN, False))
        if (directory / name).exists()
    ]
    if len(present) > 1:
        raise ConflictError(
            f"both {SEALED} and {PLAIN} exist",
            where=str(directory / "talos"),
            hint="compare them, keep the one that the cluster uses, and move the other away",
        )
    return present[0] if present else None


def require_secrets(directory: Path) -> SecretsPath:
    found = find_secrets(directory)
    if found is None:
        raise PreflightError(
            "the cluster has no secrets yet",
            where=str(directory / SEALED),
            hint="talops talos gen-secrets",
        )
    return found


def new_secrets(directory: Path, *, sealed: bool) -> SecretsPath:
    """The path for new secrets. Secrets are never overwritten: without them the cluster is lost."""
    found = find_secrets(directory)
    if found is not None:
        raise ConflictError(
            "the cluster already has secrets; they are never overwritten",
            where=str(found.path),
            hint="to create a new cluster with this name, move this file away first",
        )
    return SecretsPath(directory / (SEALED if sealed else PLAIN), sealed)
