"""Where a restore takes its snapshot from: a file, or a backup, decrypted while it is sent."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from talops.backups.compatibility import require_restorable
from talops.backups.kept import find_backup
from talops.backups.opening import open_store
from talops.backups.proving import as_proven, keys_of, prove
from talops.backups.signing import Signer
from talops.backups.store import DATA
from talops.secrets.age_stream import AgeReader
from talops.talos.snapshot import check, pieces_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from talops.backups.manifest import Backup, Manifest
    from talops.site.site import Site


class FileSource:
    option = "--from-snapshot"

    def __init__(self, path: Path, from_copy: bool) -> None:
        if not from_copy:
            check(path)
        self._path = path
        self.name = path.name
        self.skip_hash_check = from_copy
        digest = hashlib.sha256()
        for piece in pieces_of(path):
            digest.update(piece)
        self.digest = digest.hexdigest()

    async def prepare(self) -> None:
        """Checked already."""

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Iterable[bytes]]:
        yield pieces_of(self._path)


class BackupSource:
    option = "--from-backup"

    def __init__(self, site: Site, wanted: str) -> None:
        self._site, self._wanted = site, wanted
        self._store = open_store(site)
        self._backup: Backup | None = None

    async def prepare(self) -> None:
        """Find it once, and prove every byte of it."""
        if self._backup:
            return
        signer = Signer((await self._site.secrets.require()).cluster_secret)
        keys = keys_of(self._site)
        backup = await find_backup(self._store, self._wanted, signer)
        manifest = await prove(self._store, backup, keys)
        require_restorable(manifest, self._site.cluster.talos_version)
        self._backup = backup

    @property
    def name(self) -> str:
        """With its age: objects that are younger are lost."""
        manifest = self._manifest
        assert self._backup
        source = f", the database file of {manifest.source}: etcd cannot check its digest"
        return (
            f"backup {self._backup.id} of {manifest.created:%Y-%m-%d %H:%M} UTC"
            f"{source if manifest.snapshot.copied else ''}"
        )

    @property
    def skip_hash_check(self) -> bool:
        """The file of a member has no digest."""
        return self._manifest.snapshot.copied

    @property
    def kept(self) -> str:
        """Of a database that is removed for it: another one of the survivors may be newer."""
        if self._manifest.snapshot.survivor:
            return "the backup was taken from what is left"
        return "to keep its database: talops backup create --without-majority"

    @property
    def digest(self) -> str:
        return self._manifest.snapshot.sha256

    @property
    def _manifest(self) -> Manifest:
        assert self._backup
        assert self._backup.manifest
        return self._backup.manifest

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Iterable[bytes]]:
        """Read once more: what a store returns now must be what was proven."""
        assert self._backup
        keys = keys_of(self._site)
        name = self._backup.id + DATA
        where = f"{self._store.place}/{name}"
        async with self._store.opened(name) as file:
            yield as_proven(AgeReader(file, keys, where).pieces(), self.digest, where)
