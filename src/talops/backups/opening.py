"""The store that the inventory names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.backups.directory import DirectoryStore
from talops.errors import TalopsError
from talops.site.state.backends import backup_bucket

if TYPE_CHECKING:
    from talops.backups.store import Store
    from talops.site.site import ClosedSite

# Encrypted files on their way to a bucket, or back.
SPOOL = ".talops/backups"


def open_store(site: ClosedSite) -> Store:
    """Each cluster has a folder of its own in it."""
    place = site.cluster.backup.store
    if place.startswith("s3://"):
        from talops.backups.bucket import BucketStore
        from talops.statestore.s3.bucket import Bucket

        settings = backup_bucket(site)
        whole = f"{settings.prefix.strip('/')}/{site.cluster.name}".strip("/")
        bucket = Bucket(settings.bucket, whole, settings.options)
        return BucketStore(bucket, f"s3://{settings.bucket}/{whole}", site.root / SPOOL)
    if "://" in place:
        raise TalopsError(
            f"{place} is not a place for backups",
            where="store: of backup: in cluster.yaml",
            hint="write a directory, or s3://BUCKET/PREFIX",
        )
    return DirectoryStore(site.root / place / site.cluster.name)
