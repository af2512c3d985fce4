"""Remove backups that no rule selects: never the last good one, never before one is proven."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.backups.kept import list_backups
from talops.backups.proving import sealed_digest
from talops.backups.retention import Selection, selected
from talops.backups.store import DATA, MANIFEST
from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from talops.backups.manifest import Manifest
    from talops.backups.signing import Signer
    from talops.backups.store import Store
    from talops.inventory.operating import Keep

LAST_GOOD = "last good"


async def select(store: Store, signer: Signer, keep: Keep, now: datetime) -> Selection:
    """Nothing is removed. Backups that cannot be used count for no rule, and stay."""
    found = await list_backups(store, signer)
    usable = [each.manifest for each in found if each.usable and each.manifest]
    kept = selected(usable, keep, now)
    if len(kept) < len(usable):
        good = await _last_good(store, usable)
        kept[good.id] = [*kept.get(good.id, []), LAST_GOOD]
    removed = [manifest.id for manifest in usable if manifest.id not in kept]
    return Selection(kept, removed, [each for each in found if not each.usable])


async def remove(store: Store, ids: Sequence[str]) -> None:
    """The manifest last: an interrupted removal is seen, and repeated."""
    for each in ids:
        await store.remove(each + DATA)
        await store.remove(each + MANIFEST)


async def _last_good(store: Store, usable: Sequence[Manifest]) -> Manifest:
    """The newest whose encrypted bytes are those of its manifest."""
    for manifest in usable:
        async with store.opened(manifest.id + DATA) as file:
            if await asyncio.to_thread(sealed_digest, file) == manifest.sealed.sha256:
                return manifest
    raise TalopsError(
        "every backup is damaged, so none is removed",
        where=store.place,
        hint="talops backup create, then talops backup verify",
    )
