"""`talops up`: from two files to a verified cluster.

OpenTofu takes longest, so it starts first: this file loads only its stage. The others are loaded
while it plans (`Later`, and the names in `talops.stages`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops import stages
from talops.pipeline.later import Later
from talops.rolls.options import DEFAULT, RollOptions
from talops.rolls.removal.removable import Removable
from talops.rolls.rolling import Rolling
from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.stages.provision import Provision

if TYPE_CHECKING:
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site
    from talops.tofu.policy import Policy


def up(
    site: Site,
    record: Record,
    policy: Policy,
    admission: Admission = NOTHING_SAID,
    options: RollOptions = DEFAULT,
    *,
    asks: bool = False,
) -> list[AnyStage]:
    """`asks`: the user confirms the plan, so that it may remove nodes that no option names."""
    secrets, report = site.secrets, record.report
    rolling = Rolling(site, options)
    removable = Removable(policy.allow_destroy, asks)
    proxmox, nas = site.cluster.proxmox, site.cluster.truenas
    tuppr = site.cluster.upgrades == "tuppr"
    return [
        Later("nodes", lambda: stages.Nodes(site, report("nodes"), rolling, removable)),
        Later("preflight", lambda: stages.Preflight.of(site, report("preflight"))),
        Later("configure", lambda: stages.Configure(site, secrets, report("configure"))),
        *([Later("images", lambda: stages.Images(site, report("images")))] if proxmox else []),
        *([Later("storage", lambda: stages.Storage(site, report("storage")))] if nas else []),
        *([Provision(site, secrets, report("provision"), policy, rolling)] if proxmox else []),
        Later("upgrade", lambda: stages.Tuppr(site, report("upgrade")))
        if tuppr
        else Later("upgrade", lambda: stages.Upgrade(site, secrets, report("upgrade"), rolling)),
        Later(
            "apply-config",
            lambda: stages.ApplyConfig(
                site,
                secrets,
                report("apply-config"),
                policy.allow_unhealthy_etcd,
                admission,
                rolling,
            ),
        ),
        Later("bootstrap", lambda: stages.Bootstrap(site, secrets, report("bootstrap"))),
        Later("workers", lambda: stages.Workers(site, secrets, report("workers"), admission)),
        Later("kubeconfig", lambda: stages.FetchKubeconfig(site, secrets, report("kubeconfig"))),
        Later("remove", lambda: stages.Remove(site, report("remove"), rolling, removable)),
        Later(
            "return",
            lambda: stages.ReturnNodes(site, secrets, report("return"), rolling),
        ),
        Later("addons", lambda: stages.Addons(site, report("addons"))),
        Later("gitops", lambda: stages.GitOps(site, site.redact.learn, report("gitops"))),
        Later("verify", lambda: stages.Verify(site, secrets, report("verify"))),
    ]
