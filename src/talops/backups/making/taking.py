"""Take a backup: a snapshot that is encrypted while it arrives, read back, counted and described.

The order is what makes it safe: the encrypted file is complete and proven before it gets its name,
and the manifest, without which it is not a backup, is written last.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

from talops import __version__
from talops.backups import manifest as described
from talops.backups.kept import find_backup
from talops.backups.making.reading_back import read_back
from talops.backups.making.references import inventory_of, secrets_of, states_of
from talops.backups.making.sealing import DiskError, seal
from talops.backups.making.sources import find_sources
from talops.backups.proving import keys_of, require_key
from talops.backups.signing import Signer
from talops.backups.store import DATA, MANIFEST
from talops.errors import TalopsError
from talops.machineconfig.places import SEALED as SECRETS
from talops.secrets.rules import FILE as RULES
from talops.secrets.rules import load_rules
from talops.site.founding.record import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.backups.contents import Contents
    from talops.backups.making.reading_back import ReadBack
    from talops.backups.making.sealing import Sealed
    from talops.backups.making.sources import Source
    from talops.backups.manifest import Manifest
    from talops.backups.store import Incoming, Store
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.secrets.age import KeyRing
    from talops.site.site import Site

# The longest pause between two pieces of a snapshot, in seconds.
PATIENCE = 30.0


async def take(site: Site, store: Store, note: Callable[[str], None]) -> Manifest:
    """The manifest of the new backup, read back from the store. `note` is told what is retried."""
    begun = await begin(site, store)
    sources = await find_sources(site)
    async with store.incoming() as incoming:
        source, taken = await _first_whole(begun, sources, incoming.file, note)
        read = await begun.read_back(incoming.file, source.node.name)
        found = Found(source.node.name, source.talos_version, source.status.protocol_version, taken)
        return await finish(begun, incoming, found, read)


@dataclass(frozen=True)
class Begun:
    """What a backup needs besides the database."""

    site: Site
    store: Store
    bundle: Bundle
    recipients: tuple[str, ...]
    keys: KeyRing
    created: datetime
    started: float

    async def read_back(self, file: IO[bytes], source: str) -> ReadBack:
        where = f"{self.store.place} (from {source})"
        return await asyncio.to_thread(read_back, file, self.keys, where)


@dataclass(frozen=True)
class Found:
    """A database in its encrypted file; `survivor` and `copied` as in the manifest."""

    source: str
    talos_version: str
    etcd_version: str
    taken: Sealed
    copied: bool = False
    survivor: bool = False


async def begin(site: Site, store: Store) -> Begun:
    """What cannot work is noticed before a node is asked."""
    started, created = time.monotonic(), datetime.now(UTC)
    recipients, keys = _recipients(site)
    bundle = await site.secrets.require()
    await store.sizes()  # a store that cannot be used is noticed here, too
    return Begun(site, store, bundle, recipients, keys, created, started)


async def finish(begun: Begun, incoming: Incoming, found: Found, read: ReadBack) -> Manifest:
    """Give the encrypted file its name, and write its manifest."""
    site, store, contents = begun.site, begun.store, read.contents
    id_ = described.new_id(begun.created, read.sha256)
    await incoming.keep(id_ + DATA, read.sha256)
    made = described.Manifest(
        format=described.FORMAT,
        id=id_,
        cluster=site.cluster.name,
        cluster_id=fingerprint(begun.bundle.cluster_id),
        created=begun.created,
        seconds=round(time.monotonic() - begun.started, 3),
        source=found.source,
        snapshot=_snapshot(found, contents),
        sealed=described.Sealed(
            size=found.taken.size, sha256=read.sha256, recipients=begun.recipients
        ),
        kinds={
            name: described.Kind(count=kind.count, hash=kind.hash)
            for name, kind in contents.kinds.items()
        },
        inventory=inventory_of(site.root),
        secrets=secrets_of(site.root),
        states=await states_of(site),
        versions=described.Versions(
            talos=found.talos_version,
            kubernetes=site.cluster.kubernetes_version,
            etcd=found.etcd_version,
            talops=__version__,
        ),
    )
    signer = Signer(begun.bundle.cluster_secret)
    await store.write(id_ + MANIFEST, signer.sign(made.as_dict()).text().encode())
    return await _stored(store, made, signer)


async def _stored(store: Store, made: Manifest, signer: Signer) -> Manifest:
    """What the store says now: it may have lied about a write."""
    found = await find_backup(store, made.id, signer)
    if found.manifest != made:
        raise TalopsError(
            "the store does not return the manifest that was written: "
            + (found.problem or "it has another content"),
            where=f"{store.place}/{made.id}{MANIFEST}",
            hint="check the store; earlier backups are unchanged",
        )
    return found.manifest


async def _first_whole(
    begun: Begun, sources: Sequence[Source], file: IO[bytes], note: Callable[[str], None]
) -> tuple[Source, Sealed]:
    """From the first control plane that sends a whole snapshot."""
    fleet = await begun.site.secrets.fleet()
    for number, source in enumerate(sources, start=1):
        file.seek(0)
        file.truncate()
        async with fleet.fresh(source.node) as talos:
            pieces = talos.etcd.snapshot_pieces(patience=PATIENCE)
            try:
                return source, await seal(pieces, file, begun.recipients, source.node.name)
            except DiskError as error:
                error.where = begun.store.place
                raise
            except TalopsError as error:
                if number == len(sources):
                    raise
                note(f"{source.node.name}: {error.what}; trying {sources[number].node.name}")
    raise AssertionError("there is at least one source")


def _snapshot(found: Found, contents: Contents) -> described.Snapshot:
    return described.Snapshot(
        size=found.taken.snapshot.size,
        sha256=found.taken.snapshot.sha256,
        revision=contents.revision,
        revisions=contents.revisions,
        keys=contents.keys,
        storage_version=contents.storage_version,
        copied=found.copied,
        survivor=found.survivor,
    )


def _recipients(site: Site) -> tuple[tuple[str, ...], KeyRing]:
    """Who can read the secrets bundle can read a backup: it contains the same secrets."""
    rules = load_rules(site.root)
    found = rules.recipients_for(SECRETS) if rules else None
    where = str(site.root / RULES)
    if not found:
        raise TalopsError(
            f"no rule says who can read backups: they are encrypted like {SECRETS}",
            where=where,
            hint="talops secrets init",
        )
    keys = keys_of(site)
    recipients = tuple(sorted(found))
    require_key(recipients, keys, where)
    return recipients, keys
