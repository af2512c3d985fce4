"""What talops does from end to end, as lists of stages.

Each is imported where it is made. On the way most travelled, `up`, OpenTofu comes first and the
others are loaded while it plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.pipeline.later import Later
from talops.pipeline.stage import Reporter
from talops.site.secrets_file import SecretsFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.inventory.model import Node
    from talops.pipeline.checks import Check
    from talops.pipeline.session import Recorder
    from talops.pipeline.stage import AnyStage
    from talops.site.site import Site
    from talops.stages.restore import Word
    from talops.statestore.backends.interface import StateBackend
    from talops.tofu.policy import Policy

    OutsideChecks = Callable[[], Sequence[Check]]


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
    site: Site, recorder: Recorder, policy: Policy, outside: OutsideChecks = list
) -> list[AnyStage]:
    """From two files to a verified cluster; `outside` are checks that only the caller can open."""
    from talops.stages.provision import Provision

    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())
    parts = _Parts(site, recorder, secrets, outside)
    vms = [Provision(site, secrets, parts.report("provision"), policy)]
    return _bring_up(parts, vms, parts.bootstrap)


def recover(
    site: Site,
    recorder: Recorder,
    word: Word,
    open_backend: Callable[[], StateBackend],
    outside: OutsideChecks = list,
) -> list[AnyStage]:
    """`up` for a cluster that lost something: leftovers first, then what exists is taken over."""
    from talops.stages.adopt import Adopt
    from talops.stages.provision_adopted import ProvisionAdopted
    from talops.stages.restore import Restore
    from talops.stages.salvage import Salvage

    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())
    parts = _Parts(site, recorder, secrets, outside)
    adopt = Adopt(site, parts.report("adopt"))
    vms: list[AnyStage] = [
        Salvage(site, parts.report("salvage"), open_backend),
        adopt,
        ProvisionAdopted(site, secrets, parts.report("provision"), adopt),
    ]
    return _bring_up(parts, vms, lambda: Restore(site, secrets, parts.report("bootstrap"), word))


def _bring_up(
    parts: _Parts, vms: Sequence[AnyStage], found: Callable[[], AnyStage]
) -> list[AnyStage]:
    """The way that `up` and `recover` share; `vms` are left out on bare metal."""
    cluster = parts.site.cluster
    storage: list[AnyStage] = [Later("storage", parts.storage)] if cluster.truenas else []
    on_proxmox = [Later("images", parts.images), *storage, *vms]
    return [
        Later("preflight", parts.preflight),
        Later("configure", parts.configure),
        *(on_proxmox if cluster.proxmox else storage),
        Later("apply-config", parts.apply_config),
        Later("bootstrap", found),
        Later("workers", parts.workers),
        Later("kubeconfig", parts.kubeconfig),
        Later("addons", parts.addons),
        Later("gitops", parts.gitops),
        Later("verify", parts.verify),
    ]


@dataclass(frozen=True)
class _Parts:
    """The stages of a cluster's way up, each made when its turn has come."""

    site: Site
    recorder: Recorder
    secrets: SecretsFile
    outside: OutsideChecks

    def report(self, name: str) -> Reporter:
        return Reporter(name, self.recorder.emit)

    def preflight(self) -> AnyStage:
        from talops.checks.before.basis import Ground
        from talops.stages.preflight import Preflight, preflight_checks

        site = self.site
        ground = Ground(site.cluster, site.root, site, self.secrets, site.environment)
        return Preflight([*preflight_checks(ground), *self.outside()], self.report("preflight"))

    def configure(self) -> AnyStage:
        from talops.stages.configure import Configure

        return Configure(self.site, self.secrets, self.report("configure"))

    def images(self) -> AnyStage:
        from talops.stages.images import Images

        return Images(self.site, self.report("images"))

    def storage(self) -> AnyStage:
        from talops.stages.storage import Storage

        return Storage(self.site, self.report("storage"))

    def apply_config(self) -> AnyStage:
        from talops.stages.apply_config import ApplyConfig

        return ApplyConfig(self.site, self.secrets, self.report("apply-config"))

    def bootstrap(self) -> AnyStage:
        from talops.stages.bootstrap import Bootstrap

        return Bootstrap(self.site, self.secrets, self.report("bootstrap"))

    def workers(self) -> AnyStage:
        from talops.stages.workers import Workers

        return Workers(self.site, self.secrets, self.report("workers"))

    def kubeconfig(self) -> AnyStage:
        from talops.stages.kubeconfig import FetchKubeconfig

        return FetchKubeconfig(self.site, self.secrets, self.report("kubeconfig"))

    def addons(self) -> AnyStage:
        from talops.stages.addons import Addons

        return Addons(self.site, self.report("addons"))

    def gitops(self) -> AnyStage:
        from talops.stages.gitops import GitOps

        return GitOps(self.site, self.recorder.learn, self.report("gitops"))

    def verify(self) -> AnyStage:
        from talops.stages.verify import Verify

        return Verify(self.site, self.secrets, self.report("verify"))
