"""Prove a stored backup: every byte of it, and what its manifest says about it."""

from __future__ import annotations

import asyncio
import hashlib
from typing import IO, TYPE_CHECKING

from talops.backups.bolt import DamagedError
from talops.backups.contents import read_contents
from talops.backups.store import DATA
from talops.errors import DeniedError, TalopsError
from talops.secrets.age_stream import AgeReader
from talops.talos.snapshot import SnapshotDigest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from talops.backups.contents import Contents
    from talops.backups.contents import Kind as Counted
    from talops.backups.manifest import Backup, Kind, Manifest
    from talops.backups.store import Store
    from talops.secrets.age import KeyRing
    from talops.site.site import Site

_PIECE = 1 << 20
HINT = "use another backup: talops backup list"


async def prove(store: Store, backup: Backup, keys: KeyRing) -> Manifest:
    """Raise unless the encrypted file is what the manifest describes, and can be restored."""
    where = f"{store.place}/{backup.id}{DATA}"
    if backup.manifest is None or not backup.usable:
        raise DamagedError(backup.problem, where=where, hint=HINT)
    async with store.opened(backup.id + DATA) as file:
        await asyncio.to_thread(_prove, file, backup.manifest, keys, where)
    return backup.manifest


def _prove(file: IO[bytes], manifest: Manifest, keys: KeyRing, where: str) -> None:
    if sealed_digest(file) != manifest.sealed.sha256:
        raise DamagedError("the encrypted file was changed or is damaged", where=where, hint=HINT)
    reader = AgeReader(file, keys, where)
    digest = SnapshotDigest()
    for piece in reader.pieces():
        digest.add(piece)
    whole = digest.whole or manifest.snapshot.copied
    if not whole or digest.sha256 != manifest.snapshot.sha256:
        raise DamagedError("the snapshot inside does not match its digest", where=where, hint=HINT)
    compare(manifest.kinds, read_contents(reader.read_at, reader.size, where), where)


def as_proven(pieces: Iterable[bytes], sha256: str, where: str) -> Iterator[bytes]:
    """The pieces of a snapshot; the last one only if all of them have this digest.

    Every user who knows the recipients can encrypt another snapshot for them, and a store can
    return it after the proof. The transfer fails before its end then, and nothing is restored.
    """
    digest, held = SnapshotDigest(), b""
    for piece in pieces:
        if held:
            yield held
        digest.add(piece)
        held = piece
    if digest.sha256 != sha256:
        raise DamagedError(
            "the store returned another snapshot than the one that was proven",
            where=where,
            hint="check who can write to the store; then: talops backup verify",
        )
    yield held


def sealed_digest(file: IO[bytes]) -> str:
    file.seek(0)
    found = hashlib.sha256()
    while piece := file.read(_PIECE):
        found.update(piece)
    return found.hexdigest()


def compare(wanted: Mapping[str, Kind], found: Contents, where: str) -> None:
    """Raise if objects differ by count or hash."""
    if different := differences(wanted, found.kinds):
        raise DamagedError(
            "its objects are not those of the manifest: " + "; ".join(different),
            where=where,
            hint=HINT,
        )


def differences(wanted: Mapping[str, Kind], found: Mapping[str, Counted]) -> list[str]:
    """By kind, as a user reads them."""
    told = []
    for name in sorted({*wanted, *found}):
        ours, theirs = wanted.get(name), found.get(name)
        if ours is None or theirs is None or ours.count != theirs.count:
            counts = [each.count if each else 0 for each in (ours, theirs)]
            told.append(f"{name}: {counts[1]} instead of {counts[0]}")
        elif ours.hash != theirs.hash:
            told.append(f"{name}: other content")
    return told


def keys_of(site: Site) -> KeyRing:
    """Backups are encrypted, so each use of one needs the age key of this directory."""
    if site.sops.keys is None:
        raise DeniedError(
            "cannot read backups without an age key",
            where=str(site.root),
            hint="talops secrets init, or set SOPS_AGE_KEY_FILE",
        )
    return site.sops.keys


def require_key(recipients: tuple[str, ...], keys: KeyRing, where: str) -> None:
    """A backup that this repository cannot read itself could not be proven."""
    if not keys.recipients & set(recipients):
        raise TalopsError(
            "none of the age keys of this directory can read what the rules encrypt",
            where=where,
            hint="talops secrets check",
        )
