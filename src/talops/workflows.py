"""What talops does from end to end, as lists of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.stage import Reporter
from talops.stages.addons import Addons
from talops.stages.apply_config import ApplyConfig
from talops.stages.bootstrap import Bootstrap
from talops.stages.bundle import SecretsFile
from talops.stages.checks.ground import Ground
from talops.stages.configure import Configure
from talops.stages.destroy import Destroy
from talops.stages.forget import Forget
from talops.stages.gitops import GitOps
from talops.stages.images import Images
from talops.stages.kubeconfig import FetchKubeconfig
from talops.stages.preflight import Preflight, preflight_checks
from talops.stages.provision import Provision
from talops.stages.reset_nodes import ResetNodes
from talops.stages.verify import Verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import Check
    from talops.pipeline.session import Recorder
    from talops.pipeline.stage import AnyStage
    from talops.stages.site import Site
    from talops.tofu.policy import Policy


def down(
    site: Site, recorder: Recorder, *, force: bool, every_layer: bool, keep_state: bool
) -> list[AnyStage]:
    """Back to nothing: nodes leave, VMs go, and what spoke of them is forgotten."""
    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())

    def report(name: str) -> Reporter:
        return Reporter(name, recorder.emit)

    destroy: list[AnyStage] = [
        Destroy(site, report("destroy"), every_layer=every_layer, keep_state=keep_state)
    ]
    return [
        ResetNodes(site, secrets, report("reset"), force=force),
        *(destroy if site.cluster.proxmox else []),
        Forget(site, report("forget")),
    ]


def up(
    site: Site, recorder: Recorder, policy: Policy, outside: Sequence[Check] = ()
) -> list[AnyStage]:
    """From two files to a verified cluster; `outside` are checks that only the caller can open."""
    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())

    def report(name: str) -> Reporter:
        return Reporter(name, recorder.emit)

    on_proxmox: list[AnyStage] = [
        Images(site, report("images")),
        Provision(site, secrets, report("provision"), policy),
    ]
    ground = Ground(site.cluster, site.root, site, secrets, site.environment)
    return [
        Preflight([*preflight_checks(ground), *outside], report("preflight")),
        Configure(site, secrets, report("configure")),
        *(on_proxmox if site.cluster.proxmox else []),
        ApplyConfig(site, secrets, report("apply-config")),
        Bootstrap(site, secrets, report("bootstrap")),
        FetchKubeconfig(site, secrets, report("kubeconfig")),
        Addons(site, report("addons")),
        GitOps(site, recorder.learn, report("gitops")),
        Verify(site, secrets, report("verify")),
    ]
