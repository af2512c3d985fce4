"""A node's registration in Kubernetes: Node object, readiness, lease."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from talops.errors import ConflictError, NotReadyError, UnreachableError
from talops.lab.kubernetes.kubelet import Kubelet, NodeFacts
from talops.lab.talos.machine.stages import Stage

if TYPE_CHECKING:
    from talops.lab.kubernetes.api import KubeApi
    from talops.lab.talos.machine.node import Node

_POLL = 0.2


class Registration:
    """`ready` is the last status sent to Kubernetes; `trouble` is why none can be sent now."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.ready = False
        self.renewed = 0.0
        self.trouble = ""
        self._changed = asyncio.Event()

    def config_changed(self) -> None:
        self._changed.set()

    def forget(self) -> None:
        self.ready = False
        self.trouble = ""

    async def run(self, kubelet_start: float) -> None:
        """Register as soon as Kubernetes answers, then keep the lease. A kubelet never gives up,
        even if its Node is rejected: `talops lab status` shows why.
        """
        await asyncio.sleep(kubelet_start)
        while True:
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

    async def _register(self) -> None:
        node = self._node
        api = self._api()
        if api is None or node.apid.cut_off:
            raise NotReadyError("no API server answers")
        kubelet = Kubelet(api, self._facts())
        never = node.faults.never_ready
        reason = "container runtime network not ready: cni plugin not initialized" if never else ""
        await kubelet.register(kubelet.facts, ready=not never, reason=reason)
        node.store.save_joined()
        assert node.config is not None
        if node.config.control_plane and node.control_plane.has_pods:
            await kubelet.mirror_static_pods(node.config.static_pod_images())
        self.ready = not never
        self.renewed = time.monotonic()
        self.trouble = ""

    async def _keep(self) -> None:
        """Renew the lease; end when a change requires a new registration."""
        node = self._node
        complete = not (node.config and node.config.control_plane) or node.control_plane.has_pods
        while node.faults.never_ready != self.ready:
            self._changed.clear()
            try:
                wait = node.settings.timing.lease if complete else 1.0
                await asyncio.wait_for(self._changed.wait(), wait)
            except TimeoutError:
                api = self._api()
                if api is None or node.apid.cut_off:
                    return
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
            cores=node.machine.cores,
            memory=node.machine.memory,
            control_plane=config.control_plane and not config.names_whole_node,
            schedulable=config.schedulable,
            labels=config.labels,
            annotations=config.annotations,
            taints=config.taints,
        )
