"""The backups that a store has: complete ones, and those that only look like it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.backups.manifest import Backup, is_id, parse_manifest
from talops.backups.signing import read_signed
from talops.backups.store import DATA, MANIFEST
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.backups.manifest import Manifest
    from talops.backups.signing import Signer
    from talops.backups.store import Store

LATEST = "latest"


async def list_backups(store: Store, signer: Signer | None = None) -> list[Backup]:
    """The newest first. With a signer, a backup that it did not sign has a problem."""
    sizes = await store.sizes()
    ids = [n.removesuffix(MANIFEST) for n in sizes if is_id(n.removesuffix(MANIFEST))]
    found = [await _read(store, each, sizes, signer) for each in sorted(set(ids))]
    return sorted(found, key=_age_order, reverse=True)


def _age_order(backup: Backup) -> tuple[str, str]:
    """Two backups of one second have ids in no order; a damaged manifest leaves only the id."""
    exact = backup.manifest.created.isoformat() if backup.manifest else ""
    return backup.id.partition("-")[0], exact


async def find_backup(store: Store, wanted: str, signer: Signer | None = None) -> Backup:
    """`latest` is the newest usable one."""
    found = await list_backups(store, signer)
    if wanted == LATEST:
        chosen = next((each for each in found if each.usable), None)
        if chosen is None:
            problem = f"; {found[0].id}: {found[0].problem}" if found else ""
            raise TalopsError(
                f"no backup can be used{problem}",
                where=store.place,
                hint="talops backup create",
            )
        return chosen
    named = next((each for each in found if each.id == wanted), None)
    if named is None:
        raise TalopsError(
            f"backup {wanted!r} does not exist", where=store.place, hint="talops backup list"
        )
    return named


async def _read(store: Store, id_: str, sizes: dict[str, int], signer: Signer | None) -> Backup:
    where = f"{store.place}/{id_}{MANIFEST}"
    try:
        signed = read_signed(await store.read(id_ + MANIFEST), where)
        manifest = parse_manifest(signed.content, where)
        if signer:
            signer.require(signed, where)
    except TalopsError as error:
        return Backup(id_, None, error.what)
    if manifest.id != id_:
        return Backup(id_, None, f"this is the manifest of {manifest.id}")
    return Backup(id_, manifest, _problem(manifest, sizes.get(id_ + DATA)))


def _problem(manifest: Manifest, size: int | None) -> str:
    if size is None:
        return "its encrypted file is missing"
    if size != manifest.sealed.size:
        return f"its encrypted file has {size} bytes instead of {manifest.sealed.size}"
    return ""
