"""The store that the inventory names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.backups.directory import DirectoryStore
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.backups.store import Store
    from talops.site.site import ClosedSite


def open_store(site: ClosedSite) -> Store:
    """Each cluster has a folder of its own in it."""
    place = site.cluster.backup.store
    if "://" in place:
        raise TalopsError(f"{place} is not a place for backups", hint="write a directory")
    return DirectoryStore(site.root / place / site.cluster.name)
