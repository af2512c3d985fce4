"""One component of one node in a new version: its config, then the proof that it runs."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from talops.errors import TalopsError, WaitTimeoutError
from talops.events import PartProgress
from talops.kube.conditions import condition
from talops.machineconfig import yamltext
from talops.machineconfig.kubernetes_images import Component, images, read, version_of, with_images
from talops.site.config_differences import pending
from talops.site.fleet import Configured
from talops.talos.calls.machine import ApplyMode
from talops.talos.errors import CallFailedError, NotFoundError
from talops.talos.kinds import SERVICES
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from talops.kube.objects import Object
    from talops.pipeline.stage import Reporter
    from talops.rolls.kube_access import KubeAccess
    from talops.site.fleet import Fleet
    from talops.site.site import Site
    from talops.talos.resources import Resource, ResourceCalls
    from talops.upgrades.kubernetes.running import NodeRunning

# As Talos' pkg/cluster/kubernetes (talos_managed.go, kubelet.go) watches them.
_CONFIGS = {
    Component.API_SERVER: ("controlplane", "APIServerConfigs.kubernetes.talos.dev"),
    Component.CONTROLLER_MANAGER: ("controlplane", "ControllerManagerConfigs.kubernetes.talos.dev"),
    Component.SCHEDULER: ("controlplane", "SchedulerConfigs.kubernetes.talos.dev"),
    Component.KUBELET: ("k8s", "KubeletSpecs.kubernetes.talos.dev"),
}
_CONFIG_VERSION = "talos.dev/config-version"
TRIAL = "it runs a config that it has not stored"


class Raising:
    """Safe to repeat: a config that names the image already is not sent again."""

    def __init__(self, site: Site, fleet: Fleet, access: KubeAccess, report: Reporter) -> None:
        self._site = site
        self._fleet = fleet
        self._access = access
        self._report = report
        # Nodes on which a config is staged: waiting for it would never end.
        self._staged: set[str] = set()

    async def config(self, seen: NodeRunning, component: Component, image: str) -> bool:
        """Whether the config of the node had to be changed."""
        changed = False

        async def probe() -> Ready[None] | NotYet:
            nonlocal changed
            state = await self._fleet.look(seen.node)
            if not isinstance(state, Configured):
                return NotYet("it does not answer")
            documents = read(state.config)
            if images(documents).get(component) == image:
                return Ready(None)
            if pending(state) and seen.node.name not in self._staged:
                return NotYet(TRIAL)
            text = yamltext.dump_all(with_images(documents, {component: image}))
            changed = True
            async with self._fleet.talos(seen.node) as talos:
                await talos.machine.apply_configuration(text, mode=ApplyMode.NO_REBOOT)
            return NotYet("its config was applied and is not active yet")

        await self._after_trial(seen)
        hint = f"talops talos dmesg --nodes {seen.node.address}; then: talops up"
        try:
            await self._wait(f"{seen.node.name} to accept {image}", seen, probe, hint)
        except CallFailedError as error:
            error.hint = hint
            raise
        return changed

    async def _after_trial(self, seen: NodeRunning) -> None:
        """Another config would make a trial of an interrupted run permanent: it ends before."""

        async def probe() -> Ready[None] | NotYet:
            state = await self._fleet.look(seen.node)
            trial = isinstance(state, Configured) and pending(state)
            return NotYet(TRIAL) if trial else Ready(None)

        if seen.node.name in self._staged:
            return
        try:
            await wait_for(
                f"the trial of a config to end on {seen.node.name}",
                probe,
                timeout=self._site.limits.trial,
                interval=self._site.limits.interval,
                report=lambda waiting: self._report.waiting(waiting, node=seen.node.name),
            )
        except WaitTimeoutError:
            self._staged.add(seen.node.name)

    async def static_pod(self, seen: NodeRunning, component: Component, image: str) -> None:
        """Until its pod has the present config and is Ready."""

        async def probe() -> Ready[None] | NotYet:
            async with self._fleet.talos(seen.node) as talos:
                config = await _configured(talos.resources, component)
            if config is None or config.spec.get("image") != image:
                return NotYet(f"Talos has not read the new image of {component} yet")
            pod = await self._pod(seen, component)
            reason = _unfinished(pod, config.version)
            return NotYet(f"{component} {reason}") if reason else Ready(None)

        hint = f"kubectl -n kube-system describe pod {component}-{seen.name}; then: talops up"
        if component is Component.API_SERVER:  # kubectl may need this one
            hint = f"talops talos logs kubelet --nodes {seen.node.address}; then: talops up"
        await self._wait(f"{component} on {seen.node.name}", seen, probe, hint)

    async def kubelet(self, seen: NodeRunning, image: str) -> None:
        """Until its service is healthy and its Node reports the version and is Ready."""
        version = version_of(image)

        async def probe() -> Ready[None] | NotYet:
            async with self._fleet.talos(seen.node) as talos:
                reason = await _service(talos.resources, image)
            if reason:
                return NotYet(reason)
            node = (await self._access.nodes()).get(seen.name)
            if node is None:
                return NotYet(f"Kubernetes has no Node {seen.name}")
            now = str(((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion"))
            if now != version:
                return NotYet(f"its Node reports {now}")
            not_ready = condition(node, "Ready")
            return NotYet(f"its Node is not Ready: {not_ready}") if not_ready else Ready(None)

        hint = f"talops talos logs kubelet --nodes {seen.node.address}; then: talops up"
        await self._wait(f"the kubelet of {seen.node.name}", seen, probe, hint)

    async def healthy_kubelet(self, seen: NodeRunning) -> None:
        """Before it restarts: one that does not run now would hide what the upgrade does."""

        async def probe() -> Ready[None] | NotYet:
            async with self._fleet.talos(seen.node) as talos:
                reason = await _service(talos.resources)
            return NotYet(reason) if reason else Ready(None)

        hint = f"talops talos logs kubelet --nodes {seen.node.address}; then: talops up"
        await self._wait(f"the kubelet of {seen.node.name} to be healthy", seen, probe, hint)

    @contextlib.asynccontextmanager
    async def step(
        self, seen: NodeRunning, component: Component, version: str
    ) -> AsyncIterator[None]:
        """Report it; name node and component in its error."""
        started = time.monotonic()
        self._tell(seen, component, "start", started)
        try:
            yield
        except TalopsError as error:
            self._tell(seen, component, "failed", started)
            inner = f" ({error.where})" if error.where else ""
            error.where = f"{component} {version} on {seen.node.name}{inner}"
            error.hint = error.hint or "talops up"
            raise
        self._tell(seen, component, "done", started)

    async def _pod(self, seen: NodeRunning, component: Component) -> Object | None:
        async with self._access.open() as kube:
            pods = await kube.list_all(
                "v1", "Pod", namespace="kube-system", labels=f"k8s-app={component}"
            )
        return next((pod for pod in pods if pod["spec"].get("nodeName") == seen.name), None)

    async def _wait(
        self,
        what: str,
        seen: NodeRunning,
        probe: Callable[[], Awaitable[Ready[None] | NotYet]],
        hint: str,
    ) -> None:
        await wait_for(
            what,
            probe,
            timeout=self._site.limits.kubernetes,
            interval=self._site.limits.interval,
            hint=hint,
            report=lambda waiting: self._report.waiting(waiting, node=seen.node.name),
        )

    def _tell(self, seen: NodeRunning, component: Component, phase: str, started: float) -> None:
        seconds = round(time.monotonic() - started, 3)
        doing = f"upgrading {component} on"
        self._report.event(PartProgress(self._report.stage, seen.node.name, doing, phase, seconds))


def _unfinished(pod: Object | None, config_version: str) -> str:
    """What is missing until this pod runs this config; empty if nothing is."""
    if pod is None:
        return "has no pod yet"
    annotations = pod["metadata"].get("annotations") or {}
    if annotations.get(_CONFIG_VERSION) != config_version:
        return "still runs with its previous config"
    if reason := condition(pod, "Ready"):
        return f"is not Ready: {_waiting(pod) or reason}"
    return ""


def _waiting(pod: Object) -> str:
    """Why a container does not start, as its kubelet says."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        found = (status.get("state") or {}).get("waiting") or {}
        if found:
            return ": ".join(filter(None, (found.get("reason"), found.get("message"))))
    return ""


async def _configured(resources: ResourceCalls, component: Component) -> Resource | None:
    """None while Talos renders it: each change may remove it for a moment."""
    try:
        return await resources.get(*_CONFIGS[component], component)
    except NotFoundError:
        return None


async def _service(resources: ResourceCalls, image: str = "") -> str:
    """Why the kubelet does not run as it should; with this image, if one is given."""
    if image:
        config = await _configured(resources, Component.KUBELET)
        if config is None or config.spec.get("image") != image:
            return "Talos has not read the new image of the kubelet yet"
    service = await resources.find(SERVICES, "kubelet")
    if service is None or not service.running:
        return "the service kubelet does not run"
    return "" if service.healthy else "the service kubelet is not healthy"
