"""What a backup refers to but does not contain: inventory, secrets bundle, states, versions."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from talops.backups.manifest import Reference, StateReference, States
from talops.errors import TalopsError
from talops.inventory.load import CLUSTER_FILE, NODES_FILE
from talops.site.secrets_file import require_secrets
from talops.site.state.backends import backend_of

if TYPE_CHECKING:
    from pathlib import Path

    from talops.site.site import Site


def inventory_of(root: Path) -> tuple[Reference, ...]:
    return tuple(_reference(root, name) for name in (CLUSTER_FILE, NODES_FILE))


def secrets_of(root: Path) -> Reference:
    """The file as it is stored: encrypted, unless the repository keeps it in plain."""
    return _reference(root, str(require_secrets(root).path.relative_to(root)))


async def states_of(site: Site) -> States:
    """A backend that does not answer must not prevent a backup: its absence is recorded."""
    backend = backend_of(site)
    try:
        found = await backend.overview()
    except TalopsError as error:
        return States(place=backend.place, unread=site.redact(error.what))
    finally:
        await backend.close()
    return States(
        place=backend.place,
        states=tuple(
            StateReference(name=s.name, serial=s.serial, lineage=s.lineage, md5=s.md5)
            for s in found
            if s.serial is not None
        ),
    )


def _reference(root: Path, name: str) -> Reference:
    try:
        data = (root / name).read_bytes()
    except OSError as error:
        raise TalopsError(f"cannot read: {error.strerror}", where=str(root / name)) from error
    return Reference(file=name, sha256=hashlib.sha256(data).hexdigest())
