"""Restore a backup into a control plane in memory, and record what it proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.backups.proving import keys_of
from talops.errors import PreflightError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.backups.drilling import Plane
    from talops.backups.drills import Drill
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.site.site import Site

# The snapshot, the database restored from it, its write-ahead log, and etcd's own copies.
SPACE = 4
LEAST = 512 << 20


async def drill(
    site: Site,
    wanted: str,
    make_plane: Callable[[Path, Bundle], Plane],
    note: Callable[[str], None],
) -> Drill:
    """The signed record is stored with the backups, whether the drill passed or not."""
    from talops.backups import drilling, drills
    from talops.backups.kept import find_backup
    from talops.backups.memory import directory_in_memory
    from talops.backups.opening import open_store
    from talops.backups.signing import Signer

    bundle = await site.secrets.require()
    signer, store = Signer(bundle.cluster_secret), open_store(site)
    backup = await find_backup(store, wanted, signer)
    if backup.manifest is None:
        raise PreflightError(
            backup.problem, where=backup.id, hint="use another backup: talops backup list"
        )
    keys = keys_of(site)
    with directory_in_memory(LEAST + SPACE * backup.manifest.snapshot.size) as place:
        done = await drilling.drill(
            store, backup, keys, place, lambda path: make_plane(path, bundle), note
        )
    await drills.save(store, done, signer)
    return done
