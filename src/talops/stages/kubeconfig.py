"""Stage `kubeconfig`: an admin kubeconfig of this cluster with a valid certificate."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509

from talops.errors import TalopsError, UnreachableError
from talops.files import PRIVATE, write_atomic
from talops.kube import kubeconfig_file
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load
from talops.kube.objects import Ref
from talops.machineconfig.secrets import pki
from talops.machineconfig.secrets.kubeconfig import admin_kubeconfig
from talops.machineconfig.secrets.rotating import Rotated
from talops.pipeline.stage import Absent, Change, Stage
from talops.plural import count
from talops.redaction import Secret
from talops.talos.errors import MaintenanceModeError
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from talops.kube.kubeconfig import Kubeconfig
    from talops.kube.kubeconfig_file import Entry
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


def _pem(encoded: str) -> str:
    return base64.b64decode(encoded).decode().strip()


RENEW_BEFORE = timedelta(days=30)
SYSTEM_NAMESPACE = Ref("v1", "Namespace", "kube-system")


def _issued(certificate: str, bundle: Bundle) -> bool:
    """By a CA that every control plane accepts in the phase of the secrets."""
    leaf = x509.load_pem_x509_certificate(certificate.encode())
    pairs = (bundle.k8s, *bundle.accepted(Rotated.KUBERNETES_CA))
    known = {pki.subject_id(pair.certificate) for pair in pairs}
    return pki.issuer_id(leaf) in known | {b""}


@dataclass(frozen=True)
class Facts:
    """Why the existing file is not usable; empty if it is."""

    reason: str


class FetchKubeconfig(Stage[Facts, Change]):
    name = "kubeconfig"

    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report

    @property
    def _context(self) -> str:
        return self._site.cluster.name

    async def observe(self) -> Facts | Absent:
        bundle = await self._secrets.read()
        if bundle is None:
            return Absent("configure", "the cluster has no secrets yet")
        path = self._site.kubeconfig
        present = kubeconfig_file.entry(path, self._context)
        if present is None:
            return Facts(f"no context {self._context} in {path.name}")
        return Facts(self._unusable(present, bundle))

    def _unusable(self, present: Entry, bundle: Bundle) -> str:
        """Why; empty if it is usable."""
        if present.server != self._site.cluster.endpoint:
            return f"it points to {present.server}"
        if present.ca is None or present.ca.strip() != _pem(bundle.trusted_k8s):
            if Rotated.KUBERNETES_CA in bundle.rotations:
                return "it does not trust both CAs of a rotation"
            return "it trusts another CA than that of the cluster"
        if not _issued(present.certificate, bundle):
            return "another CA than that of the cluster has signed it"
        left = present.expires() - datetime.now(UTC)
        if left < RENEW_BEFORE:
            return f"its certificate expires in {count(left.days, 'day')}"
        return ""

    def plan(self, facts: Facts) -> list[Change]:
        if not facts.reason:
            return []
        return [Change("fetch", self._site.kubeconfig.name, facts.reason)]

    async def apply(self, change: Change) -> None:  # noqa: ARG002  (there is only one)
        text = await wait_for(
            "a control plane to issue a kubeconfig",
            self._fetch,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            hint="talops talos services",
            report=self._report.waiting,
        )
        merged = kubeconfig_file.merge(
            self._site.kubeconfig,
            text.reveal(),
            context=self._context,
            server=self._site.cluster.endpoint,
        )
        write_atomic(self._site.kubeconfig, merged, mode=PRIVATE, guarded=True)

    async def verify(self, _: Seen[Facts, Change], /) -> None:
        await wait_for(
            f"the Kubernetes API to answer at {self._site.cluster.endpoint}",
            self._answers,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            hint="talops talos health",
            report=self._report.waiting,
        )

    async def _answers(self) -> Ready[None] | NotYet:
        """An API server answers shortly before it has created the namespaces that add-ons need."""
        async with KubeClient(self._config()) as kube:
            version = await kube.version()
            if await kube.get(SYSTEM_NAMESPACE) is None:
                return NotYet("the API server has not created its system namespaces yet")
        self._report.log(f"Kubernetes {version}")
        return Ready(None)

    def _config(self) -> Kubeconfig:
        found = load(self._site.kubeconfig, self._context)
        if found is None:
            raise TalopsError(
                "the kubeconfig does not exist any more", where=str(self._site.kubeconfig)
            )
        return found

    async def _fetch(self) -> Ready[Secret] | NotYet:
        """Ask any control plane, never the VIP: that becomes available last. During a rotation, a
        control plane knows only its own CA.
        """
        bundle = await self._secrets.require()
        if Rotated.KUBERNETES_CA in bundle.rotations:
            cluster, now = self._site.cluster, datetime.now(UTC)
            return Ready(Secret(admin_kubeconfig(cluster.name, cluster.endpoint, bundle, now)))
        fleet = await self._secrets.fleet()
        reason = "there is no control plane"
        for node in self._site.cluster.control_planes:
            async with fleet.talos(node) as talos:
                try:
                    return Ready(await talos.machine.kubeconfig())
                except (UnreachableError, MaintenanceModeError) as error:
                    reason = f"{node.name}: {error.what}"
        return NotYet(reason)
