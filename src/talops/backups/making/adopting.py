"""Make backups of what a CronJob in the cluster has uploaded to the store.

It has an encrypted snapshot and nothing else. Each is decrypted piece by piece, proven, encrypted
again for everyone who may read backups, and gets a signed manifest; then the upload is removed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.backups.kept import list_backups
from talops.backups.making import taking
from talops.backups.making.sealing import DiskError, seal
from talops.backups.signing import Signer
from talops.errors import TalopsError
from talops.secrets.age_stream import AgeReader

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from talops.backups.manifest import Manifest
    from talops.backups.store import Store
    from talops.site.site import Site

# CLUSTER-2026-11-19T03:17:00Z.snap.age, as talos-backup names them (time.RFC3339).
_NAME = re.compile(r".+-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d))\.snap\.age")
UPLOADER = "talos-backup"
UNKNOWN = "unknown"


def uploads(names: dict[str, int]) -> list[tuple[datetime, str]]:
    """The oldest first."""
    found = [(match, name) for name in names if (match := _NAME.fullmatch(name))]
    return sorted((_moment(match[1]), name) for match, name in found)


async def adopt(site: Site, store: Store, note: Callable[[str], None]) -> list[Manifest]:
    """What cannot be proven stays in the store, and is an error once the others are adopted."""
    made, refused = [], []
    signer = Signer((await site.secrets.require()).cluster_secret)
    known = {each.manifest.created for each in await list_backups(store, signer) if each.manifest}
    for created, name in uploads(await store.sizes()):
        if created in known:  # adopted by a run that was interrupted before it removed the upload
            await store.remove(name)
            continue
        try:
            made.append(await _adopt(site, store, created, name))
        except DiskError:
            raise
        except TalopsError as error:
            note(f"{name}: {error.what}")
            refused.append(name)
    if refused:
        raise TalopsError(
            f"cannot adopt {', '.join(refused)}",
            where=store.place,
            hint="talops backup list shows what can be restored; delete a damaged upload in the "
            "bucket",
        )
    return made


async def _adopt(site: Site, store: Store, created: datetime, name: str) -> Manifest:
    begun = replace(await taking.begin(site, store), created=created)
    async with store.opened(name) as sealed, store.incoming() as incoming:
        pieces = _plain(AgeReader(sealed, begun.keys, f"{store.place}/{name}"))
        try:
            taken = await seal(pieces, incoming.file, begun.recipients, name)
        except DiskError as error:
            error.where = store.place
            raise
        read = await begun.read_back(incoming.file, name)
        found = taking.Found(UPLOADER, UNKNOWN, UNKNOWN, taken)
        made = await taking.finish(begun, incoming, found, read)
    await store.remove(name)
    return made


async def _plain(reader: AgeReader) -> AsyncGenerator[bytes]:
    for piece in reader.pieces():
        yield piece


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
