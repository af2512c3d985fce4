"""`talops down`: destroy the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.site.state.backends import backend_of
from talops.stages.destroy import Destroy
from talops.stages.forget import Forget
from talops.stages.leftovers import Leftovers
from talops.stages.reset_nodes import ResetNodes

if TYPE_CHECKING:
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


def down(
    site: Site,
    record: Record,
    *,
    force: bool,
    every_layer: bool,
    keep_state: bool,
    allow_destroy: frozenset[str] = frozenset(),
) -> list[AnyStage]:
    """Reset the nodes, destroy the VMs, remove the cluster's local files, list what remains."""
    secrets, report = site.secrets, record.report
    reset = ResetNodes(site, secrets, report("reset"), force=force)
    forget = Forget(site, report("forget"))
    if site.cluster.proxmox is None:
        return [reset, forget]
    return [
        reset,
        Destroy(
            site,
            report("destroy"),
            every_layer=every_layer,
            keep_state=keep_state,
            allow_destroy=allow_destroy,
        ),
        forget,
        Leftovers(site, report("leftovers"), lambda: backend_of(site)),
    ]
