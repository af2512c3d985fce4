"""A backup without a majority: the database of the member that has applied most.

A snapshot of etcd carries a digest, so it is asked for first. Where etcd does not run, the file of
its database is copied as it is. It has no digest: that it can be opened, and every key of it read,
is what is known of it. Of several, the one with the newest revision is kept.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.backups.making import taking
from talops.backups.making.sealing import DiskError, seal
from talops.errors import ConflictError, TalopsError
from talops.site.connections import Connections, errors_of, values_of
from talops.talos.errors import PreconditionError
from talops.talos.recovery import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.backups.making.reading_back import ReadBack
    from talops.backups.making.sealing import Sealed
    from talops.backups.manifest import Manifest
    from talops.backups.store import Incoming, Store
    from talops.inventory.model import Node
    from talops.site.site import Site
    from talops.talos.calls.etcd import EtcdStatus
    from talops.talos.client import Talos

DATABASE = f"{DATA}/snap/db"


@dataclass(frozen=True)
class Survivor:
    """A member with data; without a status its etcd does not run."""

    node: Node
    talos_version: str
    status: EtcdStatus | None


@dataclass(frozen=True)
class _Copy:
    incoming: Incoming
    found: taking.Found
    read: ReadBack

    @property
    def rank(self) -> tuple[int, bool]:
        """The newest; of equal ones a snapshot, whose digest was compared."""
        return self.read.contents.revision, not self.found.copied


async def take_survivor(site: Site, store: Store, note: Callable[[str], None]) -> Manifest:
    """The manifest of the backup, as `taking.take` returns it."""
    begun = await taking.begin(site, store)
    survivors = await find_survivors(site, note)
    async with contextlib.AsyncExitStack() as stack:
        best: _Copy | None = None
        for survivor in survivors:
            incoming = await stack.enter_async_context(store.incoming())
            made = await _copy(begun, survivor, incoming, note)
            if made and (best is None or made.rank > best.rank):
                best = made
        if best is None:
            raise TalopsError(
                "no control plane has a database that can be read",
                where=", ".join(survivor.node.name for survivor in survivors),
                hint="restore an earlier backup: talops recover --from-backup latest",
            )
        return await taking.finish(begun, best.incoming, best.found, best.read)


async def find_survivors(site: Site, note: Callable[[str], None]) -> list[Survivor]:
    """Control planes with etcd data; an error if one has a leader, as it can send a snapshot that
    the majority has agreed on.
    """
    planes = site.cluster.control_planes
    answers = await Connections(site, site.secrets).ask(planes, _look)
    errors = errors_of(answers)
    for name, error in errors.items():
        note(f"{name}: {error.what}")
    found = values_of(answers)
    survivors = [Survivor(node, *found[node.name]) for node in planes if found.get(node.name)]  # type: ignore[misc]  # None is left out
    leading = [s.node.name for s in survivors if s.status and s.status.leader]
    if leading:
        raise ConflictError(
            "etcd has a leader, so it has a majority",
            where=", ".join(leading),
            hint="talops backup create",
        )
    if not survivors:
        raise TalopsError(
            "no control plane that answers has etcd data",
            where=", ".join(node.name for node in planes),
            hint="restore an earlier backup: talops recover --from-backup latest",
        )
    return survivors


async def _look(talos: Talos) -> tuple[str, EtcdStatus | None] | None:
    """None without data."""
    if not await talos.files.exists(DATA):
        return None
    version = (await talos.version()).tag
    try:
        return version, await talos.etcd.status()
    except PreconditionError:  # its etcd does not run
        return version, None


async def _copy(
    begun: taking.Begun, survivor: Survivor, incoming: Incoming, note: Callable[[str], None]
) -> _Copy | None:
    """None if its database cannot be read."""
    node, status = survivor.node, survivor.status
    try:
        taken, copied = await _sealed(begun, survivor, incoming, note)
        read = await begun.read_back(incoming.file, node.name)
    except DiskError as error:
        error.where = begun.store.place
        raise
    except TalopsError as error:
        note(f"{node.name}: {error.what}")
        return None
    version = status.protocol_version if status else ""
    found = taking.Found(node.name, survivor.talos_version, version, taken, copied, survivor=True)
    return _Copy(incoming, found, read)


async def _sealed(
    begun: taking.Begun, survivor: Survivor, incoming: Incoming, note: Callable[[str], None]
) -> tuple[Sealed, bool]:
    """A snapshot, or else (True) the file of the database."""
    name, file = survivor.node.name, incoming.file
    fleet = await begun.site.secrets.fleet()
    async with fleet.fresh(survivor.node) as talos:
        if survivor.status:
            pieces = talos.etcd.snapshot_pieces(patience=taking.PATIENCE)
            try:
                return await seal(pieces, file, begun.recipients, name), False
            except DiskError:
                raise
            except TalopsError as error:
                note(f"{name}: {error.what}; copying its database file")
                file.seek(0)
                file.truncate()
        pieces = talos.files.pieces(DATABASE, patience=taking.PATIENCE)
        return await seal(pieces, file, begun.recipients, name, copied=True), True
