"""What a phase does once all nodes are in it: files, pods, and Secrets in etcd."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.kube.client import KubeClient
from talops.kube.kubeconfig import parse
from talops.machineconfig.secrets.kubeconfig import admin_kubeconfig
from talops.machineconfig.secrets.rotating import Phase, Rotated
from talops.plural import count
from talops.rotation import pods
from talops.rotation.files import renew_kubeconfig, renew_talosconfig
from talops.rotation.phases import used
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.pki import Pair
    from talops.pipeline.stage import Reporter
    from talops.site.site import Site


class Whole:
    """Of one cluster, with the secrets of one phase."""

    def __init__(self, site: Site, bundle: Bundle, rotated: Rotated, report: Reporter) -> None:
        self._site = site
        self._bundle = bundle
        self._rotated = rotated
        self._report = report

    async def renew_files(self) -> None:
        """They trust every CA that may answer in this phase and the next one."""
        now, site = datetime.now(UTC), self._site
        renew_kubeconfig(site.kubeconfig, site.cluster, self._bundle, now)
        renew_talosconfig(site.root, site.cluster, self._bundle, now)

    async def follow_pods(self, *, restart: bool) -> None:
        new = self._new()
        async with self._kube() as kube:
            await self._wait("the new CA in every namespace", lambda: pods.spread(kube, new))
            found = await pods.look(kube, new)
            if not found:
                return
            names = ", ".join(f"{each} ({count(n, 'pod')})" for each, n in sorted(found.items()))
            if not restart:
                self._report.note(
                    f"these pods hold only the old CA until they restart: {names}",
                    level="warning",
                    hint=f"talops rotate {self._rotated} --restart-pods",
                )
                return
            now = datetime.now(UTC)
            fixed = [each for each in sorted(found) if not await pods.restart(kube, each, now)]
            if fixed:
                listed = ", ".join(map(str, fixed))
                self._report.note(
                    f"not restarted, as no controller would replace them: {listed}", level="warning"
                )
            await self._wait(
                f"the restart of {names}", lambda: self._restarted(kube, new, {*fixed})
            )

    async def _restarted(
        self, kube: KubeClient, new: Pair, fixed: set[pods.Workload]
    ) -> Ready[None] | NotYet:
        left = [each for each in await pods.look(kube, new) if each not in fixed]
        return NotYet(f"old pods of {min(left)}") if left else Ready(None)

    async def rewrite(self) -> None:
        """Every Secret is written again, which encrypts it with the key in use."""
        from talops.rotation.stored import rewrite

        async with self._kube() as kube:
            done = await rewrite(kube)
        self._report.note(f"{count(done, 'Secret')} encrypted with the new key")

    def _new(self) -> Pair:
        rotation = self._bundle.rotations[self._rotated]
        if rotation.phase is Phase.ACCEPT:
            return rotation.other
        return used(self._bundle, self._rotated)

    @contextlib.asynccontextmanager
    async def _kube(self) -> AsyncIterator[KubeClient]:
        """With a certificate of this moment; every control plane accepts it."""
        cluster = self._site.cluster
        text = admin_kubeconfig(cluster.name, cluster.endpoint, self._bundle, datetime.now(UTC))
        async with KubeClient(parse(text, where="secrets")) as kube:
            yield kube

    async def _wait(self, what: str, probe: Callable[[], Awaitable[Ready[None] | NotYet]]) -> None:
        await wait_for(
            what,
            probe,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            hint="the same command again continues the rotation",
            report=self._report.waiting,
        )
