"""The store that the inventory names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from talops.backups.directory import DirectoryStore
from talops.errors import TalopsError
from talops.inside import OutsideError
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
    return DirectoryStore(_unlinked(site.root, place, site.cluster.name))


def _unlinked(root: Path, *parts: str) -> Path:
    """A directory elsewhere is named in cluster.yaml, not hidden behind a symlink of a clone."""
    path = root.joinpath(*parts)
    named, real = Path(os.path.normpath(path)), root.resolve()
    if named.is_relative_to(root) and not path.resolve().is_relative_to(real):
        raise OutsideError(
            "the directory of the backups is a symlink that leads outside of this directory",
            where=str(path),
            hint="write its target to store: of backup: in cluster.yaml",
        )
    return path
