"""`talops adopt`: a running cluster becomes talops' own; no node and no VM restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.stages.adopting.founded import ConfigureAdopted, Founded, ProvisionRunning
from talops.stages.adopting.take import Take

if TYPE_CHECKING:
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


def adopt(site: Site, record: Record) -> list[AnyStage]:
    """States first; etcd is on record last, when everything else is talops' own."""
    secrets, report = site.secrets, record.report
    take = Take(site, secrets, report("adopt"))
    vms: list[AnyStage] = [take, ProvisionRunning(site, secrets, report("provision"), take)]
    return [
        ConfigureAdopted(site, secrets, report("configure")),
        *(vms if site.cluster.proxmox else []),
        Founded(site, secrets, report("bootstrap")),
    ]
