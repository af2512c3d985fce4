"""`talops infra` holds the locks of a run: it changes the same files, states and VMs as `up`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.app.running import shared_run_lock
from talops.pipeline.lock import Holder, local_lock, proof_of, shared_lock
from talops.pipeline.rundir import new_run_id
from talops.site.checkout import HOME, mark
from talops.site.site import ClosedSite

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from talops.app.infra.layers import OpenLayers


@asynccontextmanager
async def exclusive(
    run: OpenLayers, command: str, note: Callable[[str], None], *, shared: bool
) -> AsyncIterator[None]:
    """No other run works in this directory; `shared`: nor on these states from elsewhere."""
    mark(run.root)
    lock = run.root / HOME / "lock"
    holder = Holder.myself(new_run_id(command), f"infra {command}", run.root)
    with local_lock(lock, holder):
        holder = replace(holder, proof=proof_of(lock))
        if run.cluster is None or not shared:
            yield
            return
        site = ClosedSite(run.cluster, run.root, run.environment, run.credentials)
        async with (
            shared_run_lock(site, note) as other,
            shared_lock(other, holder, note, run.fence),
        ):
            yield
