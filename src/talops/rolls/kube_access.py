"""The Kubernetes API for a roll: by the kubeconfig of the site, or by one for this run only."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load, parse
from talops.machineconfig.secrets import pem
from talops.machineconfig.secrets.kubeconfig import admin_kubeconfig
from talops.machineconfig.secrets.rotating import Rotated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.kube.kubeconfig import Kubeconfig
    from talops.kube.objects import Object
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site


class KubeAccess:
    """A clone of the repository on another machine has no kubeconfig, but it has the secrets."""

    def __init__(self, site: Site, secrets: SecretsFile) -> None:
        self._site = site
        self._secrets = secrets
        self._own: Kubeconfig | None = None

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[KubeClient]:
        async with KubeClient(await self.config()) as client:
            yield client

    async def config(self) -> Kubeconfig:
        bundle = await self._secrets.read()
        config = self._own or self._from_file(bundle)
        if config is None and bundle is not None and Rotated.KUBERNETES_CA in bundle.rotations:
            config = self._own = self._of_rotation(bundle)
        if config is None:
            config = self._own = await self._from_control_plane()
        return config

    def _of_rotation(self, bundle: Bundle) -> Kubeconfig:
        """A control plane names only the CA that it uses itself: others may use another one."""
        cluster, now = self._site.cluster, datetime.now(UTC)
        return parse(admin_kubeconfig(cluster.name, cluster.endpoint, bundle, now), where="secrets")

    async def nodes(self) -> dict[str, Object]:
        async with self.open() as client:
            return {n["metadata"]["name"]: n for n in await client.list_all("v1", "Node")}

    def _from_file(self, bundle: Bundle | None) -> Kubeconfig | None:
        with contextlib.suppress(TalopsError):  # the stage `kubeconfig` reports what is wrong
            config = load(self._site.kubeconfig, self._site.cluster.name)
            if config is not None and config.server == self._site.cluster.endpoint:
                return config if bundle is None or _knows(config, bundle) else None
        return None

    async def _from_control_plane(self) -> Kubeconfig:
        fleet = await self._secrets.fleet()
        failure: TalopsError | None = None
        for node in self._site.cluster.control_planes:
            async with fleet.talos(node) as talos:
                try:
                    return parse((await talos.machine.kubeconfig()).reveal(), where=node.name)
                except TalopsError as error:
                    failure = error
        assert failure, "a cluster has a control plane"
        raise failure


def _knows(config: Kubeconfig, bundle: Bundle) -> bool:
    """Whether it trusts every CA that may answer during a rotation."""
    if Rotated.KUBERNETES_CA not in bundle.rotations:
        return True
    given = "".join((config.ca or "").split())
    pairs = (bundle.k8s, *bundle.accepted(Rotated.KUBERNETES_CA))
    return all("".join(pem.from_one_line(p.crt).decode().split()) in given for p in pairs)
