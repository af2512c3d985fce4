"""One upgrade of Kubernetes in a running cluster, in the order of `talosctl upgrade-k8s`.

Images everywhere → API servers → controller managers → schedulers → kube-proxy in the configs →
kubelets of control planes, then of workers → bootstrap manifests. One node at a time, with the
gates of a roll between them. Every step looks at the world first: a repeated run goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.machineconfig.kubernetes_images import STATIC_PODS, Component, numbers
from talops.upgrades.kubernetes import mark
from talops.upgrades.kubernetes.manifests import Manifests
from talops.upgrades.kubernetes.problems import problems, warnings
from talops.upgrades.kubernetes.pulling import pull_everywhere
from talops.upgrades.kubernetes.raising import Raising
from talops.upgrades.kubernetes.reading import facts_for
from talops.upgrades.kubernetes.rendered import keep_inventory, rendered
from talops.upgrades.kubernetes.running import look_at
from talops.upgrades.kubernetes.targets import targets
from talops.upgrades.versions import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.kube.client import KubeClient
    from talops.pipeline.stage import Reporter
    from talops.rolls.roller import Roller
    from talops.rolls.rolling import Rolling
    from talops.site.site import Site
    from talops.upgrades.kubernetes.problems import Facts
    from talops.upgrades.kubernetes.running import NodeRunning, Running
    from talops.upgrades.kubernetes.targets import Targets


class Kubernetes:
    """Shares the roll of its run, so that nothing else of the run stops a node meanwhile."""

    def __init__(self, site: Site, rolling: Rolling, report: Reporter) -> None:
        self._site = site
        self._rolling = rolling
        self._report = report

    @property
    def _roller(self) -> Roller:
        return self._rolling.roller

    async def look(self) -> Span:
        """The oldest and the newest version that anything runs, or is configured to run."""
        running = await self._look()
        return Span(running.low, running.high)

    async def problems(self, to: str) -> Sequence[str]:
        """What must change before this upgrade; reads only. Warnings are notes of the run."""
        facts = await self._facts(await self._look(), await targets(self._site, to))
        for text in warnings(facts):
            self._report.note(text, level="warning", hint="kubectl get --raw /metrics")
        return problems(facts)

    async def run(self, to: str) -> None:
        """Raise every component to this version, and prove that it runs."""
        running, wanted = await self._look(), await targets(self._site, to)
        _require_order(running, to)
        _require_none(problems(await self._facts(running, wanted)), to)
        fleet = await self._site.secrets.fleet()
        await pull_everywhere(running.nodes, wanted, fleet, self._report)
        await self._roller.pass_gates(self._report, f"checking gates before Kubernetes {to}")
        async with self._roller.kube.open() as kube:
            await mark.begin(kube, running.low, to)
        raising = Raising(self._site, fleet, self._roller.kube, self._report)
        for component in STATIC_PODS:
            for seen in running.planes:
                await self._static_pod(raising, seen, component, wanted)
        for seen in running.planes:
            await self._proxy(raising, seen, wanted)
        await self._require_api_servers(to)
        for seen in (*running.planes, *(s for s in running.nodes if not s.node.controller)):
            await self._kubelet(raising, seen, wanted)
        async with self._roller.kube.open() as kube:
            await self._manifests(kube, running, wanted)
            await mark.end(kube)

    async def _manifests(self, kube: KubeClient, running: Running, wanted: Targets) -> None:
        """As the first control plane renders them."""
        fleet, plane = await self._site.secrets.fleet(), running.planes[0].node
        proxy = wanted.images(plane).get(Component.PROXY, "")
        objects = await rendered(fleet, plane, proxy, self._site.limits, self._report)
        inventory = await keep_inventory(fleet, (seen.node for seen in running.nodes))
        await Manifests(kube, objects, inventory=inventory).sync(self._site.limits, self._report)

    async def _facts(self, running: Running, wanted: Targets) -> Facts:
        fleet = await self._site.secrets.fleet()
        return await facts_for(running, wanted, fleet, self._roller.kube)

    async def _look(self) -> Running:
        fleet = await self._site.secrets.fleet()
        return await look_at(self._site, fleet, self._roller.kube)

    async def _static_pod(
        self, raising: Raising, seen: NodeRunning, component: Component, wanted: Targets
    ) -> None:
        await self._site.fence.check()
        image = wanted.images(seen.node)[component]
        async with raising.step(seen, component, wanted.version):
            changed = await raising.config(seen, component, image)
            if seen.name:  # otherwise it has not joined yet, and starts with this version
                await raising.static_pod(seen, component, image)
        if changed:
            await self._pass_gates_after(seen, component)

    async def _proxy(self, raising: Raising, seen: NodeRunning, wanted: Targets) -> None:
        """Its pods follow the bootstrap manifests, which Talos derives from the configs."""
        await self._site.fence.check()
        if image := wanted.images(seen.node).get(Component.PROXY):
            async with raising.step(seen, Component.PROXY, wanted.version):
                await raising.config(seen, Component.PROXY, image)

    async def _kubelet(self, raising: Raising, seen: NodeRunning, wanted: Targets) -> None:
        await self._site.fence.check()
        image = wanted.images(seen.node)[Component.KUBELET]
        async with raising.step(seen, Component.KUBELET, wanted.version):
            if seen.name:
                await raising.healthy_kubelet(seen)
            changed = await raising.config(seen, Component.KUBELET, image)
            if seen.name:
                await raising.kubelet(seen, image)
        if changed:
            await self._pass_gates_after(seen, Component.KUBELET)

    async def _pass_gates_after(self, seen: NodeRunning, component: Component) -> None:
        where = f"checking gates after {component} on {seen.node.name}"
        await self._roller.pass_gates(self._report, where)

    async def _require_api_servers(self, to: str) -> None:
        """A kubelet must never be newer than an API server."""
        running = await self._look()
        for seen in running.planes:
            found = seen.pods.get(Component.API_SERVER)
            if found and numbers(found) < numbers(to):
                raise ConflictError(
                    f"the API server of {seen.node.name} runs {found}, so no kubelet may run {to}",
                    where=f"{Component.API_SERVER} on {seen.node.name}",
                    hint="talops up",
                )


def _require_order(running: Running, to: str) -> None:
    if numbers(running.high) > numbers(to):
        raise TalopsError(
            f"Kubernetes {running.high} runs: it is never lowered to {to}",
            hint=f"set kubernetes_version: {running.high} in cluster.yaml",
        )


def _require_none(found: Sequence[str], to: str) -> None:
    """An earlier upgrade of the same run may have led here: only now its versions run."""
    if found:
        listed = "\n  ".join(found)
        raise TalopsError(
            f"Kubernetes cannot be upgraded to {to} yet; nothing was changed:\n  {listed}",
            where="kubernetes_version",
            hint="change what is listed, then: talops up",
        )
