"""A node's registration in Kubernetes: Node object, readiness, lease."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from talops.errors import ConflictError, NotReadyError, UnreachableError
from talops.lab.kubernetes.kubelet import Kubelet, NodeFacts
from talops.lab.kubernetes.pods.host import PodHost
from talops.lab.kubernetes.pods.runner import PodRunner
from talops.lab.talos.cluster.draining import drain, uncordon
from talops.lab.talos.machine.stages import Stage

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi
    from talops.lab.talos.machine.node import Node

_POLL = 0.2
# The grace periods of Talos' kubelets, ordinary and critical pods together.
_SHUTDOWN_LIMIT = 30.0
_SHUTDOWN = "node is shutting down"
_SERVICE_GONE = 0.05


class Registration:
    """`ready` is the last status sent to Kubernetes; `trouble` is why none can be sent now."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.ready = False
        self.renewed = 0.0
        self.trouble = ""
        self.pods: PodRunner | None = None
        # The CA that signed the certificate with which the kubelet calls API servers.
        self._client_ca = b""
        self._changed = asyncio.Event()
        self._restart = asyncio.Event()
        self._starts_again = False

    def config_changed(self) -> None:
        self._changed.set()

    async def forget(self) -> None:
        """The power is off."""
        self.ready = self._starts_again = False
        self.trouble = ""
        if self.pods is not None:
            self._node.fabric.detach(self.pods)
            await self.pods.lose()
            self.pods = None

    async def drain(self) -> None:
        """Before Talos shuts down, is reset gracefully, or is upgraded by the old call."""
        api, node = self._reachable_api(), self._node
        if node.settings.workloads and api is not None and self.renewed:
            await drain(api, node.hostname, node.settings.timing)

    async def shut_down(self) -> None:
        """The kubelet's part of an orderly shutdown; without an API server it only takes time."""
        api, pods = self._api(), self.pods
        if pods is None or api is None or self._node.apid.cut_off:
            return
        self._node.fabric.detach(pods)
        with contextlib.suppress(TimeoutError, UnreachableError, NotReadyError, ConflictError):
            async with asyncio.timeout(_SHUTDOWN_LIMIT):
                await Kubelet(api, self._facts()).report(ready=False, reason=_SHUTDOWN)
                await pods.shut_down()

    def restart(self) -> None:
        """A new config of the kubelet; its service ends and starts again."""
        self._restart.set()

    async def run(self, kubelet_start: float) -> None:
        """The kubelet, as long as the node is up."""
        while True:
            await asyncio.sleep(kubelet_start)
            self._restart.clear()
            serving = asyncio.create_task(self._serve())
            restart = asyncio.create_task(self._until_restart())
            both = {serving, restart}
            try:
                done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                await _end(both)
            await self._stop_service()

    async def _until_restart(self) -> None:
        await self._restart.wait()

    async def _stop_service(self) -> None:
        """Its containers go on; long enough for clients that watch the service."""
        if self.pods is not None:
            self._node.fabric.detach(self.pods)
            await self.pods.stop()
        services = self._node.services
        services.set("kubelet", "Finished", "Service finished successfully")
        await asyncio.sleep(_SERVICE_GONE)
        services.set("kubelet", "Preparing")
        self._starts_again = True

    async def _serve(self) -> None:
        """Register as soon as Kubernetes answers, then keep the lease. A kubelet never gives up,
        even if its Node is rejected: `talops lab status` shows why.
        """
        if self._starts_again:
            self._node.services.set("kubelet", "Running", healthy=True)
        self._keep_certificate()
        while True:
            self._changed.clear()  # what changes from now on requires another registration
            try:
                await self._register()
                await self._keep()
            except (UnreachableError, NotReadyError, ConflictError) as error:
                if str(error) != self.trouble:
                    self.trouble = str(error)
                    self._node.journal.log("kubelet", f"cannot register: {error}")
                await asyncio.sleep(_POLL)

    async def follow_readiness(self) -> None:
        """Stage and conditions as Talos derives them, for as long as the node is up."""
        node = self._node
        while True:
            node.enter(Stage.RUNNING)
            await asyncio.sleep(_POLL)

    def _keep_certificate(self) -> None:
        """Talos removes the certificate of a kubelet that starts if no CA that the node accepts has
        signed it (refreshKubeletCerts in k8s/kubelet_service.go of Talos 1.13.9).
        """
        config = self._node.config
        if config is not None and self._client_ca.strip() not in config.trusted_kubernetes_cas:
            self._client_ca = b""

    def _authenticate(self) -> None:
        """Without a certificate, the bootstrap token gets one, signed by the CA in use. The kubelet
        of a control plane calls its own API server, that of a worker any of them.
        """
        node = self._node
        assert node.config is not None
        serving = [
            other.config
            for other in node.fabric.control_planes(node.config.cluster_id)
            if other.control_plane.api_ready and other.config is not None
        ]
        if not self._client_ca and serving:
            self._client_ca = serving[0].authority("ca").crt
        asked = [node.config] if node.config in serving else serving
        if any(self._client_ca.strip() not in one.trusted_kubernetes_cas for one in asked):
            raise NotReadyError("Unauthorized: no accepted CA has signed the client certificate")

    async def _register(self) -> None:
        node = self._node
        api = self._api()
        if api is None or node.apid.cut_off:
            raise NotReadyError("no API server answers")
        self._authenticate()
        kubelet = Kubelet(api, self._facts())
        never = node.faults.never_ready
        reason = "container runtime network not ready: cni plugin not initialized" if never else ""
        await kubelet.register(kubelet.facts, ready=not never, reason=reason)
        node.store.save_joined()
        assert node.config is not None
        await kubelet.mirror_static_pods(node.control_plane.serving.pods())
        self.ready = not never
        self.renewed = time.monotonic()
        self.trouble = ""
        if node.settings.workloads:
            await uncordon(api, node.hostname)
        self._run_pods(api)

    def _run_pods(self, api: KubeApi) -> None:
        node = self._node
        if not node.settings.workloads:
            return
        timing = node.settings.timing
        if self.pods is None:
            host = PodHost(
                node.hostname,
                node.addresses[0],
                self._reachable_api,
                start=timing.of(timing.pod_start),
                stop=timing.of(timing.pod_stop),
                log=lambda text: node.journal.log("kubelet", text),
            )
            self.pods = PodRunner(host, self.config_changed)
        workloads = node.fabric.workloads(api, timing.of(timing.attach))
        workloads.attach(node.hostname, self, self.pods)

    def _reachable_api(self) -> KubeApi | None:
        return None if self._node.apid.cut_off else self._api()

    async def _keep(self) -> None:
        """Renew the lease; end when a change requires a new registration."""
        node = self._node
        complete = not (node.config and node.config.control_plane) or node.control_plane.has_pods
        while node.faults.never_ready != self.ready:
            try:
                wait = node.settings.timing.lease if complete else 1.0
                await asyncio.wait_for(self._changed.wait(), wait)
            except TimeoutError:
                api = self._api()
                if api is None or node.apid.cut_off:
                    return
                self._authenticate()
                await Kubelet(api, self._facts()).renew()
                self.renewed = time.monotonic()
                if not complete and node.control_plane.has_pods:
                    return
            else:
                return

    def _api(self) -> KubeApi | None:
        config = self._node.config
        if config is None or not self._node.fabric.api_servers(config.cluster_id):
            return None
        return self._node.fabric.kube_api(config.cluster_id)

    def _facts(self) -> NodeFacts:
        node, config = self._node, self._node.config
        assert config is not None
        return NodeFacts(
            name=node.hostname,
            addresses=node.addresses[:1],
            kubelet_version=config.kubelet_version,
            os_image=f"Talos ({node.version})",
            machine_id=node.machine.uuid,
            boot_id=node.boot_id,
            cores=node.machine.cores,
            memory=node.machine.memory,
            control_plane=config.control_plane and not config.names_whole_node,
            schedulable=config.schedulable,
            labels=config.labels,
            annotations=config.annotations,
            taints=config.taints,
        )


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    """Until they have: `wait_for` of Python 3.11 loses a cancellation that comes at the moment in
    which what it waits for is done, such as a config that changes kubelet and API server at once.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=_POLL)
    await asyncio.gather(*tasks, return_exceptions=True)
