"""What talops does from end to end, as lists of stages.

Stages that only one way goes through are imported there: the way most travelled is `up`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.stage import Reporter
from talops.stages.addons import Addons
from talops.stages.apply_config import ApplyConfig
from talops.stages.bootstrap import Bootstrap
from talops.stages.bundle import SecretsFile
from talops.stages.checks.ground import Ground
from talops.stages.configure import Configure
from talops.stages.gitops import GitOps
from talops.stages.images import Images
from talops.stages.kubeconfig import FetchKubeconfig
from talops.stages.preflight import Preflight, preflight_checks
from talops.stages.provision import Provision
from talops.stages.storage import Storage
from talops.stages.verify import Verify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.inventory.model import Node
    from talops.pipeline.checks import Check
    from talops.pipeline.session import Recorder
    from talops.pipeline.stage import AnyStage
    from talops.stages.recover.restore import Word
    from talops.stages.site import Site
    from talops.statestore.backends.interface import StateBackend
    from talops.tofu.policy import Policy


def down(
    site: Site,
    recorder: Recorder,
    open_backend: Callable[[], StateBackend],
    *,
    force: bool,
    every_layer: bool,
    keep_state: bool,
) -> list[AnyStage]:
    """Back to nothing: nodes leave, VMs go, what spoke of them is forgotten, the rest is listed."""
    from talops.stages.destroy import Destroy
    from talops.stages.forget import Forget
    from talops.stages.leftovers import Leftovers
    from talops.stages.reset_nodes import ResetNodes

    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())

    def report(name: str) -> Reporter:
        return Reporter(name, recorder.emit)

    destroy: list[AnyStage] = [
        Destroy(site, report("destroy"), every_layer=every_layer, keep_state=keep_state)
    ]
    listed: list[AnyStage] = [Leftovers(site, report("leftovers"), open_backend)]
    return [
        ResetNodes(site, secrets, report("reset"), force=force),
        *(destroy if site.cluster.proxmox else []),
        Forget(site, report("forget")),
        *(listed if site.cluster.proxmox else []),
    ]


def reset(
    site: Site, recorder: Recorder, node: Node, *, force: bool, keep_vm: bool
) -> list[AnyStage]:
    """One node leaves, its VM goes, and Kubernetes forgets it; `up` brings it back."""
    from talops.stages.destroy_one import DestroyOne
    from talops.stages.forget_one import ForgetOne
    from talops.stages.reset_one import ResetOne

    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())

    def report(name: str) -> Reporter:
        return Reporter(name, recorder.emit)

    vm: list[AnyStage] = [DestroyOne(site, node, report("destroy"))]
    return [
        ResetOne(site, node, secrets, report("reset"), force=force),
        *(vm if node.vm and not keep_vm else []),
        ForgetOne(site, node, secrets, report("forget")),
    ]


def up(
    site: Site, recorder: Recorder, policy: Policy, outside: Sequence[Check] = ()
) -> list[AnyStage]:
    """From two files to a verified cluster; `outside` are checks that only the caller can open."""
    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())

    def report(name: str) -> Reporter:
        return Reporter(name, recorder.emit)

    vms: list[AnyStage] = [Provision(site, secrets, report("provision"), policy)]
    found = Bootstrap(site, secrets, report("bootstrap"))
    return _bring_up(site, recorder, secrets, outside, vms, found)


def recover(
    site: Site,
    recorder: Recorder,
    word: Word,
    open_backend: Callable[[], StateBackend],
    outside: Sequence[Check] = (),
) -> list[AnyStage]:
    """`up` for a cluster that lost something: leftovers first, then what exists is taken over."""
    from talops.stages.recover.adopt import Adopt
    from talops.stages.recover.provision import ProvisionAdopted
    from talops.stages.recover.restore import Restore
    from talops.stages.recover.salvage import Salvage

    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())

    def report(name: str) -> Reporter:
        return Reporter(name, recorder.emit)

    adopt = Adopt(site, report("adopt"))
    vms: list[AnyStage] = [
        Salvage(site, report("salvage"), open_backend),
        adopt,
        ProvisionAdopted(site, secrets, report("provision"), adopt),
    ]
    found = Restore(site, secrets, report("bootstrap"), word)
    return _bring_up(site, recorder, secrets, outside, vms, found)


def _bring_up(
    site: Site,
    recorder: Recorder,
    secrets: SecretsFile,
    outside: Sequence[Check],
    vms: Sequence[AnyStage],
    found: Bootstrap,
) -> list[AnyStage]:
    """The way that `up` and `recover` share; `vms` are left out on bare metal."""

    def report(name: str) -> Reporter:
        return Reporter(name, recorder.emit)

    storage: list[AnyStage] = [Storage(site, report("storage"))] if site.cluster.truenas else []
    on_proxmox = [Images(site, report("images")), *storage, *vms]
    ground = Ground(site.cluster, site.root, site, secrets, site.environment)
    return [
        Preflight([*preflight_checks(ground), *outside], report("preflight")),
        Configure(site, secrets, report("configure")),
        *(on_proxmox if site.cluster.proxmox else storage),
        ApplyConfig(site, secrets, report("apply-config")),
        found,
        FetchKubeconfig(site, secrets, report("kubeconfig")),
        Addons(site, report("addons")),
        GitOps(site, recorder.learn, report("gitops")),
        Verify(site, secrets, report("verify")),
    ]
