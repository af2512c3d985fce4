"""`talops drift --fix`: the safe part of the stages that found a difference."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from talops.site.connections import Connections
from talops.stages.configure import Configure
from talops.stages.repair.node_labels import NodeLabels
from talops.stages.repair.online import GentleAddons, GentleGitOps, OnlineConfig, OnlineProvision
from talops.stages.storage import Storage

if TYPE_CHECKING:
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


@dataclass(frozen=True)
class Repairs:
    """Which parts are repaired; false if there is nothing to repair."""

    files: bool = False
    layers: bool = False
    storage: bool = False
    # Nodes whose configs differ and that do not restart to apply them.
    nodes: tuple[str, ...] = ()
    node_labels: bool = False
    addons: bool = False
    gitops: bool = False

    def __bool__(self) -> bool:
        return any(astuple(self))


def repair(site: Site, record: Record, wanted: Repairs) -> list[AnyStage]:
    """Files first, then VMs, storage, nodes and Kubernetes."""
    secrets, report = site.secrets, record.report
    quiet = site.only(wanted.nodes)
    return [
        *([Configure(site, secrets, report("configure"))] if wanted.files else []),
        *([OnlineProvision(site, secrets, report("provision"))] if wanted.layers else []),
        *([Storage(site, report("storage"))] if wanted.storage else []),
        *([OnlineConfig(quiet, secrets, report("apply-config"))] if wanted.nodes else []),
        *([NodeLabels(Connections(site, secrets))] if wanted.node_labels else []),
        *([GentleAddons(site, report("addons"))] if wanted.addons else []),
        *([GentleGitOps(site, site.redact.learn, report("gitops"))] if wanted.gitops else []),
    ]
