"""The workloads of one cluster: one watch of its pods and one of its nodes, for all kubelets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from talops.lab.kubernetes.csi.attacher import Attacher
from talops.lab.kubernetes.csi.provisioner import Provisioner
from talops.lab.kubernetes.pods.plan import is_ready
from talops.lab.kubernetes.watch import Collection

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.kubernetes.api import KubeApi
    from talops.lab.kubernetes.pods.runner import PodRunner
    from talops.lab.talos.cluster.registration import Registration

Object = dict[str, Any]


class Workloads:
    """Passes each pod to the node that it is bound to, and attaches volumes."""

    def __init__(self, api: KubeApi, attach: float, stuck: Callable[[str], bool]) -> None:
        self._pods = Collection(api, "/api/v1/pods", self._pod)
        self._nodes = Collection(api, "/api/v1/nodes", self._node)
        self._runners: dict[str, tuple[Registration, PodRunner]] = {}
        csi = Attacher(api, attach, stuck).run(), Provisioner(api).run()
        work = (self._pods.follow(), self._nodes.follow(), *csi)
        self._tasks = [asyncio.create_task(each) for each in work]

    def attach(self, name: str, registration: Registration, runner: PodRunner) -> None:
        """The kubelet of this node has registered."""
        if name in self._runners and self._runners[name][1] is runner:
            return
        self._runners[name] = (registration, runner)
        own = [p for p in self._pods.objects.values() if p["spec"].get("nodeName") == name]
        runner.start([pod["metadata"]["uid"] for pod in own])
        for node in self._nodes.objects.values():
            if node["metadata"]["name"] == name:
                runner.see_node(node)
        for pod in own:
            runner.see(pod, gone=False)

    def detach(self, runner: PodRunner) -> None:
        for name in [name for name, found in self._runners.items() if found[1] is runner]:
            del self._runners[name]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _pod(self, pod: Object, gone: bool) -> None:
        found = self._runners.get(pod["spec"].get("nodeName", ""))
        if found is not None:
            found[1].see(pod, gone=gone)

    def _node(self, node: Object, gone: bool) -> None:
        """A kubelet corrects what others have written into the status of its node."""
        found = self._runners.get(node["metadata"]["name"])
        if found is None or gone:
            return
        found[1].see_node(node)
        if is_ready(node) != found[0].ready:
            found[0].config_changed()
