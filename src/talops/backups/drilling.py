"""A restore drill: a backup becomes a running control plane in memory, and is compared there."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from talops import __version__
from talops.backups.contents import Tally
from talops.backups.drills import Drill
from talops.backups.manifest import new_id
from talops.backups.proving import as_proven, differences, prove
from talops.backups.served import Names, read_served
from talops.backups.store import DATA
from talops.files import PRIVATE, writing
from talops.secrets.age_stream import AgeReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from pathlib import Path

    from talops.backups.manifest import Backup, Manifest
    from talops.backups.store import Store
    from talops.secrets.age import KeyRing

SNAPSHOT = "snapshot.db"


class Plane(Protocol):
    """A control plane that a snapshot can be restored to."""

    async def restore(self, snapshot: Path, *, skip_hash_check: bool) -> None: ...

    def pairs(self) -> AsyncIterator[tuple[bytes, bytes]]: ...

    async def serve(self) -> None: ...

    async def get(self, path: str, **query: str) -> dict[str, Any]: ...

    async def close(self) -> None: ...


async def drill(
    store: Store,
    backup: Backup,
    keys: KeyRing,
    place: Path,
    make_plane: Callable[[Path], Plane],
    note: Callable[[str], None],
) -> Drill:
    """`place` is in memory: it gets the plain snapshot and everything that is made of it."""
    started = time.monotonic()
    manifest = await prove(store, backup, keys)
    note(f"{backup.id} is whole; restoring it")
    await _unsealed(store, manifest, keys, place / SNAPSHOT)
    plane = make_plane(place / "plane")
    try:
        found, names = await _compared(plane, place / SNAPSHOT, manifest)
        note(f"etcd has {manifest.snapshot.keys} objects; starting the API server")
        await plane.serve()
        served = await read_served(plane.get, names)
        version = str((await plane.get("/version")).get("gitVersion", ""))
    finally:
        await plane.close()
    at = datetime.now(UTC)
    return Drill(
        id=new_id(at, manifest.snapshot.sha256),
        backup=backup.id,
        cluster=manifest.cluster,
        at=at,
        seconds=round(time.monotonic() - started, 3),
        objects=manifest.snapshot.keys,
        served=served.objects,
        kinds=len(manifest.kinds),
        unserved=served.unserved,
        differences=(*found, *served.missing),
        versions={"kubernetes": version, "talops": __version__},
    )


async def _compared(plane: Plane, snapshot: Path, manifest: Manifest) -> tuple[list[str], Names]:
    """Before an API server writes to it, etcd has what the manifest says, by count and hash."""
    await plane.restore(snapshot, skip_hash_check=manifest.snapshot.copied)
    await asyncio.to_thread(snapshot.unlink)
    tally, names = Tally(), Names()
    async for key, value in plane.pairs():
        tally.add(key, value)
        names.add(key)
    return differences(manifest.kinds, tally.kinds()), names


async def _unsealed(store: Store, manifest: Manifest, keys: KeyRing, target: Path) -> None:
    where = f"{store.place}/{manifest.id}{DATA}"
    async with store.opened(manifest.id + DATA) as file:
        pieces = AgeReader(file, keys, where).pieces()
        await asyncio.to_thread(_write, as_proven(pieces, manifest.snapshot.sha256, where), target)


def _write(pieces: Iterable[bytes], target: Path) -> None:
    with writing(target), target.open("wb") as plain:
        target.chmod(PRIVATE)
        for piece in pieces:
            plain.write(piece)
