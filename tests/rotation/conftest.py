"""Clusters of the lab whose CAs and keys are rotated: real etcd and API servers.

What lab nodes do with accepted CAs follows the sources of Talos 1.13.9: apid and trustd trust
`machine.ca` and `machine.acceptedCAs` (secrets.RootOSController), kube-apiserver gets both
`cluster.ca` and `cluster.acceptedCAs` as its client CA and pods get both as their root CA
(k8s.RenderSecretsStaticPodController). A kubelet starts again when they change, and gets another
client certificate only if its node does not accept the CA of the present one any more
(k8s.KubeletServiceController, refreshKubeletCerts).
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.site import QUICK, NodeSite

from talops.errors import DeniedError, UnreachableError
from talops.inventory.load import load
from talops.kube.client import KubeClient
from talops.machineconfig.secrets import bundle as bundles
from talops.machineconfig.secrets.rotating import Rotated
from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Reporter
from talops.rotation.access import kubernetes_credentials, talos_credentials
from talops.site.site import Site
from talops.stages.rotation.rotate import Rotate
from talops.talos.client import Talos
from talops.talos.errors import ForeignCertificateError, WrongCaError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from talops.events import Event
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.pipeline.result import RunResult

BOTH = (Rotated.TALOS_CA, Rotated.KUBERNETES_CA)


class Rotating:
    """A running cluster, and its secrets as the file has them."""

    def __init__(self, lab: NodeSite) -> None:
        self.lab = lab

    @property
    def bundle(self) -> Bundle:
        path = self.lab.root / "talos" / "talsecret.yaml"
        return bundles.from_yaml(path.read_text(), where="x")

    def site(self) -> Site:
        nothing: Any = None
        return Site(
            cluster=load(self.lab.root).require(),
            root=self.lab.root,
            sops=nothing,
            engine=Path(),
            environment={},
            credentials={},
            kubeconfig=self.lab.root / "kubeconfig",
            limits=QUICK,
            nodes=re.compile(""),
        )

    async def rotate(
        self,
        *rotated: Rotated,
        restart_pods: bool = False,
        emit: Callable[[Event], None] | None = None,
    ) -> RunResult:
        """As `talops rotate` does, in this process."""
        told = emit or self.lab.events.append
        stage = Rotate(self.site(), rotated, Reporter("rotate", told), restart_pods=restart_pods)
        return await run_stages([stage], emit=told, options=Options())

    async def up(self) -> RunResult:
        """With the secrets of the file, as any checkout that has them."""
        return await self.lab.run("kubeconfig")


@pytest.fixture
def rotating(
    tmp_path: Path, tool: Callable[[str], Path], bundle: Bundle
) -> Callable[..., contextlib.AbstractAsyncContextManager[Rotating]]:
    """Start a cluster of these nodes, with a kubeconfig."""

    @contextlib.asynccontextmanager
    async def make(
        *names: str, version: str = "v1.13.9", **settings: Any
    ) -> AsyncIterator[Rotating]:
        async def find(name: str) -> Path:
            return tool(name)

        lab = NodeSite(tmp_path, find, bundle, **settings)
        try:
            await lab.start(*names, version=version)
            file = lab.root / "cluster.yaml"
            minor = version.rpartition(".")[0]
            text = file.read_text().replace("talos_version: v1.13.9", f"talos_version: {version}")
            file.write_text(f"{text}talos_contract: {minor}\n")
            for name in names:
                await lab.lab.listening(name)
            up = await lab.run("kubeconfig")
            assert up.error is None, up.error
            await lab.lab.ready(*names)
            yield Rotating(lab)
        finally:
            await lab.lab.close()

    return make


async def refuses_the_old(cluster: Rotating, before: Bundle) -> None:
    """No node accepts a client of an old CA, or answers with a certificate of one; secrets and
    nodes agree.
    """
    after, site = cluster.bundle, cluster.site()
    assert after.rotations == {}
    assert after.os.crt != before.os.crt
    assert after.k8s.crt != before.k8s.crt
    for node in site.cluster.nodes:
        address = str(node.address)
        async with Talos.connect(address, talos_credentials(after.os, after.os)) as talos:
            await talos.version()
        for client, server in ((before.os, after.os), (after.os, before.os)):
            with pytest.raises((ForeignCertificateError, WrongCaError)):
                async with Talos.connect(address, talos_credentials(client, server)) as talos:
                    await talos.version()
    for node in site.cluster.control_planes:
        address = str(node.address)
        async with KubeClient(kubernetes_credentials(address, after.k8s, after.k8s)) as kube:
            await kube.get_json("/api/v1/namespaces")
        with pytest.raises(DeniedError):
            async with KubeClient(kubernetes_credentials(address, before.k8s, after.k8s)) as kube:
                await kube.get_json("/api/v1/namespaces")
        with pytest.raises(UnreachableError):
            async with KubeClient(kubernetes_credentials(address, after.k8s, before.k8s)) as kube:
                await kube.get_json("/api/v1/namespaces")
    up = await cluster.up()
    assert up.error is None, up.error
    assert {str(stage.status) for stage in up.stages} == {"unchanged"}
