"""`talops replace`: a node leaves the cluster and joins it again, with a new disk or a new VM."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from talops.rolls.options import DEFAULT, RollOptions
from talops.rolls.rolling import Rolling
from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.stages.apply_config import ApplyConfig
from talops.stages.bootstrap import Bootstrap
from talops.stages.configure import Configure
from talops.stages.images import Images
from talops.stages.kubeconfig import FetchKubeconfig
from talops.stages.membership.leave import Leave
from talops.stages.membership.return_nodes import ReturnNodes
from talops.stages.preflight import Preflight
from talops.stages.provision import Provision
from talops.stages.verify import Verify
from talops.stages.workers import Workers
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.record import Record
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site


def replace(
    site: Site,
    record: Record,
    node: Node,
    admission: Admission = NOTHING_SAID,
    options: RollOptions = DEFAULT,
) -> list[AnyStage]:
    """Images exist before the old node leaves; the cluster is verified after the new one joined."""
    secrets, report = site.secrets, record.report
    rolling, names = Rolling(site, options), frozenset({node.name})
    # What else differs is for `up`, or for a replacement of its own.
    alone = dataclasses.replace(site, nodes=re.compile(f"^{re.escape(node.name)}$"))
    vms: list[AnyStage] = [
        Provision(site, secrets, report("provision"), Policy(), rolling, leaving=names)
    ]
    return [
        Preflight.of(site, report("preflight")),
        Configure(site, secrets, report("configure")),
        *([Images(site, report("images"))] if site.cluster.proxmox else []),
        Leave(site, node, report("leave"), rolling),
        *(vms if site.cluster.proxmox else []),
        ApplyConfig(alone, secrets, report("apply-config"), (), admission, rolling, names),
        Bootstrap(site, secrets, report("bootstrap")),
        Workers(alone, secrets, report("workers"), admission),
        FetchKubeconfig(site, secrets, report("kubeconfig")),
        ReturnNodes(site, secrets, report("return"), rolling),
        Verify(site, secrets, report("verify")),
    ]
