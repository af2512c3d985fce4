"""`talops recover`: `up` for a cluster that lost something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.site.state.backends import backend_of
from talops.stages.addons import Addons
from talops.stages.adopt import Adopt
from talops.stages.apply_config import ApplyConfig
from talops.stages.configure import Configure
from talops.stages.gitops import GitOps
from talops.stages.images import Images
from talops.stages.kubeconfig import FetchKubeconfig
from talops.stages.preflight import Preflight
from talops.stages.provision_adopted import ProvisionAdopted
from talops.stages.restore import Restore
from talops.stages.salvage import Salvage
from talops.stages.storage import Storage
from talops.stages.verify import Verify
from talops.stages.workers import Workers

if TYPE_CHECKING:
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site
    from talops.stages.restore import RecoveryChoice


def recover(
    site: Site, record: Record, choice: RecoveryChoice, admission: Admission = NOTHING_SAID
) -> list[AnyStage]:
    """Clean up interrupted runs, adopt existing VMs, then continue like `up`."""
    secrets, report = site.secrets, record.report
    proxmox, nas = site.cluster.proxmox, site.cluster.truenas
    adopt = Adopt(site, report("adopt"))
    vms: list[AnyStage] = [
        Salvage(site, report("salvage"), lambda: backend_of(site)),
        adopt,
        ProvisionAdopted(site, secrets, report("provision"), adopt),
    ]
    return [
        Preflight.of(site, report("preflight")),
        Configure(site, secrets, report("configure")),
        *([Images(site, report("images"))] if proxmox else []),
        *([Storage(site, report("storage"))] if nas else []),
        *(vms if proxmox else []),
        ApplyConfig(site, secrets, report("apply-config"), admission=admission),
        Restore(site, secrets, report("bootstrap"), choice),
        Workers(site, secrets, report("workers"), admission),
        FetchKubeconfig(site, secrets, report("kubeconfig")),
        Addons(site, report("addons")),
        GitOps(site, site.redact.learn, report("gitops")),
        Verify(site, secrets, report("verify")),
    ]
