"""The Kubernetes API for a roll: by the kubeconfig of the site, or by one for this run only."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load, parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.kube.kubeconfig import Kubeconfig
    from talops.kube.objects import Object
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
        config = self._own or self._from_file()
        if config is None:
            config = self._own = await self._from_control_plane()
        return config

    async def nodes(self) -> dict[str, Object]:
        async with self.open() as client:
            return {n["metadata"]["name"]: n for n in await client.list_all("v1", "Node")}

    def _from_file(self) -> Kubeconfig | None:
        with contextlib.suppress(TalopsError):  # the stage `kubeconfig` reports what is wrong
            config = load(self._site.kubeconfig, self._site.cluster.name)
            if config is not None and config.server == self._site.cluster.endpoint:
                return config
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
