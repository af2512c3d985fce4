"""Take, list and prove backups of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.backups.manifest import Backup, Manifest
    from talops.site.site import ClosedSite, Site


@dataclass(frozen=True)
class Proof:
    """`error` is None if every byte is there and the objects are those of the manifest."""

    id: str
    error: TalopsError | None


async def create(
    site: Site, note: Callable[[str], None], *, without_majority: bool = False
) -> Manifest:
    from talops.app.verifying import require_cluster
    from talops.backups.making.survivors import take_survivor
    from talops.backups.making.taking import take
    from talops.backups.opening import open_store

    require_cluster(site)
    work = take_survivor if without_majority else take
    return await work(site, open_store(site), lambda text: note(site.redact(text)))


async def adopt(site: Site, note: Callable[[str], None]) -> list[Manifest]:
    """Of what a CronJob in the cluster has uploaded."""
    from talops.app.verifying import require_cluster
    from talops.backups.making import adopting
    from talops.backups.opening import open_store

    require_cluster(site)
    return await adopting.adopt(site, open_store(site), lambda text: note(site.redact(text)))


async def listed(site: ClosedSite) -> list[Backup]:
    """Without the secrets: signatures are not checked."""
    from talops.backups.kept import list_backups
    from talops.backups.opening import open_store

    return await list_backups(open_store(site))


async def found(site: ClosedSite, wanted: str) -> Backup:
    from talops.backups.kept import find_backup
    from talops.backups.opening import open_store

    return await find_backup(open_store(site), wanted)


async def proofs(site: Site, wanted: Sequence[str], report: Callable[[Proof], None]) -> list[Proof]:
    """Prove these backups, or all of them; `report` receives each proof."""
    from talops.backups.kept import find_backup, list_backups
    from talops.backups.opening import open_store
    from talops.backups.proving import keys_of, prove
    from talops.backups.signing import Signer

    store = open_store(site)
    signer = Signer((await site.secrets.require()).cluster_secret)
    keys = keys_of(site)
    if wanted:
        chosen = [await find_backup(store, each, signer) for each in wanted]
    else:
        chosen = await list_backups(store, signer)
    if not chosen:
        raise TalopsError("there are no backups", where=store.place, hint="talops backup create")
    done = []
    for backup in chosen:
        try:
            await prove(store, backup, keys)
            proof = Proof(backup.id, None)
        except TalopsError as error:
            proof = Proof(backup.id, error)
        report(proof)
        done.append(proof)
    return done
