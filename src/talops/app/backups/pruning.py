"""Select and remove backups, and print what makes them regular."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.backups.retention import Selection
    from talops.site.site import ClosedSite, Site


async def selection(site: Site) -> Selection:
    from talops.backups.opening import open_store
    from talops.backups.pruning import select
    from talops.backups.signing import Signer

    signer = Signer((await site.secrets.require()).cluster_secret)
    return await select(open_store(site), signer, site.cluster.backup.keep, datetime.now(UTC))


async def prune(site: Site, chosen: Selection, *, unusable: bool) -> int:
    """The number of removed backups; what interrupted commands left behind is removed, too."""
    from talops.backups.opening import open_store
    from talops.backups.pruning import remove

    store = open_store(site)
    ids = [*chosen.removed, *([each.id for each in chosen.unusable] if unusable else [])]
    await remove(store, ids)
    await store.sweep()
    return len(ids)


def schedule(site: ClosedSite, way: str, at: str, program: str) -> str:
    from talops.backups.scheduling import WAYS, Plan
    from talops.secrets.init import KEY_FILE

    if way not in WAYS:
        raise TalopsError(f"{way!r} is not a schedule", hint=f"write one of {', '.join(WAYS)}")
    found = Path(program)
    absolute = found if found.is_absolute() else Path(sys.executable).with_name("talops")
    key = Path(site.environment.get("SOPS_AGE_KEY_FILE") or site.root / KEY_FILE)
    plan = Plan(
        cluster=site.cluster.name,
        root=site.root,
        program=str(absolute),
        at=at,
        key_file=site.root / key,
        remote="://" in site.cluster.backup.store,
    )
    return WAYS[way](plan)
