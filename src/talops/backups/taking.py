"""Take a backup: a snapshot that is encrypted while it arrives, read back, counted and described.

The order is what makes it safe: the encrypted file is complete and proven before it gets its name,
and the manifest, without which it is not a backup, is written last.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

from talops import __version__
from talops.backups import manifest as described
from talops.backups.contents import read_contents
from talops.backups.kept import find_backup
from talops.backups.proving import keys_of, require_key
from talops.backups.references import inventory_of, secrets_of, states_of
from talops.backups.signing import Signer
from talops.backups.sources import find_sources
from talops.backups.store import DATA, MANIFEST
from talops.errors import TalopsError
from talops.machineconfig.places import SEALED as SECRETS
from talops.secrets.age_stream import AgeReader, AgeWriter
from talops.secrets.rules import FILE as RULES
from talops.secrets.rules import load_rules
from talops.site.founding.record import fingerprint
from talops.talos.snapshot import SnapshotDigest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from talops.backups.contents import Contents
    from talops.backups.manifest import Manifest
    from talops.backups.sources import Source
    from talops.backups.store import Store
    from talops.secrets.age import KeyRing
    from talops.site.site import Site

# The longest pause between two pieces of a snapshot, in seconds.
PATIENCE = 30.0


@dataclass(frozen=True)
class _Taken:
    """A snapshot in its encrypted file."""

    snapshot: SnapshotDigest
    sealed_size: int
    sealed_sha256: str


async def take(site: Site, store: Store, note: Callable[[str], None]) -> Manifest:
    """The manifest of the new backup, read back from the store. `note` is told what is retried."""
    started, created = time.monotonic(), datetime.now(UTC)
    recipients, keys = _recipients(site)
    bundle = await site.secrets.require()
    sources = await find_sources(site)
    await store.sizes()  # a store that cannot be used is noticed before the snapshot
    async with store.incoming() as incoming:
        source, taken = await _first_whole(
            site, sources, incoming.file, recipients, note, store.place
        )
        where = f"{store.place} (from {source.node.name})"
        contents = await asyncio.to_thread(_counted, incoming.file, keys, where)
        id_ = described.new_id(created, taken.sealed_sha256)
        await incoming.keep(id_ + DATA, taken.sealed_sha256)
    made = described.Manifest(
        format=described.FORMAT,
        id=id_,
        cluster=site.cluster.name,
        cluster_id=fingerprint(bundle.cluster_id),
        created=created,
        seconds=round(time.monotonic() - started, 3),
        source=source.node.name,
        snapshot=_snapshot(taken, contents),
        sealed=described.Sealed(
            size=taken.sealed_size, sha256=taken.sealed_sha256, recipients=recipients
        ),
        kinds={
            name: described.Kind(count=kind.count, hash=kind.hash)
            for name, kind in contents.kinds.items()
        },
        inventory=inventory_of(site.root),
        secrets=secrets_of(site.root),
        states=await states_of(site),
        versions=described.Versions(
            talos=source.talos_version,
            kubernetes=site.cluster.kubernetes_version,
            etcd=source.status.protocol_version,
            talops=__version__,
        ),
    )
    signer = Signer(bundle.cluster_secret)
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
    site: Site,
    sources: Sequence[Source],
    file: IO[bytes],
    recipients: tuple[str, ...],
    note: Callable[[str], None],
    place: str,
) -> tuple[Source, _Taken]:
    """From the first control plane that sends a whole snapshot."""
    fleet = await site.secrets.fleet()
    for number, source in enumerate(sources, start=1):
        file.seek(0)
        file.truncate()
        async with fleet.fresh(source.node) as talos:
            pieces = talos.etcd.snapshot_pieces(patience=PATIENCE)
            try:
                return source, await _sealed(pieces, file, recipients, source.node.name)
            except _DiskError as error:
                error.where = place
                raise
            except TalopsError as error:
                if number == len(sources):
                    raise
                note(f"{source.node.name}: {error.what}; trying {sources[number].node.name}")
    raise AssertionError("there is at least one source")


class _DiskError(TalopsError):
    """Another control plane would not help."""


async def _sealed(
    pieces: AsyncGenerator[bytes], file: IO[bytes], recipients: tuple[str, ...], source: str
) -> _Taken:
    digest, sealed, size = SnapshotDigest(), hashlib.sha256(), 0

    def write(data: bytes) -> None:
        nonlocal size
        sealed.update(data)
        size += len(data)
        try:
            file.write(data)
        except OSError as error:
            raise _full(error) from error

    writer = AgeWriter(write, recipients)
    async with aclosing(pieces):
        async for piece in pieces:
            digest.add(piece)
            writer.add(piece)
    if not digest.whole:
        raise TalopsError(
            f"the snapshot is damaged or truncated after {digest.size} bytes",
            where=source,
            hint="talops backup create; no backup was written",
        )
    writer.finish()
    try:
        file.flush()
    except OSError as error:
        raise _full(error) from error
    return _Taken(digest, size, sealed.hexdigest())


def _full(error: OSError) -> _DiskError:
    return _DiskError(
        f"cannot write: {error.strerror}",
        hint="free space, or change store: of backup: in cluster.yaml; "
        "earlier backups are unchanged",
    )


def _counted(file: IO[bytes], keys: KeyRing, where: str) -> Contents:
    """Opened as a restore would: decrypted, and every key read."""
    reader = AgeReader(file, keys, where)
    return read_contents(reader.read_at, reader.size, where)


def _snapshot(taken: _Taken, contents: Contents) -> described.Snapshot:
    return described.Snapshot(
        size=taken.snapshot.size,
        sha256=taken.snapshot.sha256,
        revision=contents.revision,
        revisions=contents.revisions,
        keys=contents.keys,
        storage_version=contents.storage_version,
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
