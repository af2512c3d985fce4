"""The states of a site: the backend that its inventory names, or another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.opening import inventory_if_any, with_credentials
from talops.errors import TalopsError
from talops.site.site import ClosedSite
from talops.site.state.backends import backend_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.events import Emit
    from talops.statestore.backends.interface import StateBackend


async def open_backend(
    root: Path,
    environment: Mapping[str, str],
    emit: Emit,
    place: str | None = None,
    ca_file: Path | None = None,
) -> StateBackend:
    """`place` overrides the inventory; local files need no credentials."""
    cluster = inventory_if_any(root)
    if cluster is None:
        raise TalopsError(
            "this directory contains no inventory",
            where=str(root),
            hint="set its directory with -C, or create one: talops init",
        )
    site = ClosedSite(cluster, root, environment, {})
    if (place or cluster.state.kind) != "local":
        site = await with_credentials(site, emit)
    return backend_of(site, place, ca_file)
