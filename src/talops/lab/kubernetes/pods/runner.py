"""The pods of one node: what its kubelet and its container runtime know of them."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import itertools
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError
from talops.lab.kubernetes.pods.plan import is_deleted, is_mirror
from talops.lab.kubernetes.pods.played import PlayedPod
from talops.lab.kubernetes.pods.volumes import NodeVolumes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterator

    from talops.lab.kubernetes.pods.host import PodHost
    from talops.lab.kubernetes.pods.plan import Pod

# The first address of a node's pod network is the bridge.
_FIRST = 2


class PodRunner:
    """`mirrors` is called when the API object of a static pod has to be written again."""

    def __init__(self, host: PodHost, mirrors: Callable[[], None]) -> None:
        self._host = host
        self._mirrors = mirrors
        self._pods: dict[str, PlayedPod] = {}
        self._numbers = itertools.count(_FIRST)
        self._network: ipaddress.IPv4Network | None = None
        self._networked = asyncio.Event()
        self._volumes = NodeVolumes(host)
        self._own: set[asyncio.Task[None]] = set()

    def pods(self) -> Iterator[Pod]:
        """Those whose containers run now."""
        return (p.pod for p in self._pods.values() if p.containers is not None)

    def see(self, pod: Pod, *, gone: bool) -> None:
        """A pod that is bound to this node, as the API has it now."""
        if is_mirror(pod):
            self._see_mirror(pod, gone=gone)
            return
        uid = pod["metadata"]["uid"]
        known = self._pods.get(uid)
        if gone:
            if known is not None:
                del self._pods[uid]
                self._do(known.stop())
            return
        if known is None:
            self._pods[uid] = PlayedPod(self._host, pod, self._prepare, self._volumes.unmount)
            self._pods[uid].start()
        else:
            known.see(pod)
            known.start()

    def _see_mirror(self, pod: Pod, *, gone: bool) -> None:
        """Deleting it deletes only the object, and its kubelet creates it again."""
        if gone:
            self._mirrors()
        elif is_deleted(pod):
            self._do(self._delete_mirror(pod["metadata"]))

    async def _delete_mirror(self, meta: dict[str, Any]) -> None:
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        with contextlib.suppress(ConflictError):  # already deleted
            await self._host.call(lambda api: api.delete(path, options))

    async def stop(self) -> None:
        """The kubelet ends, the containers go on."""
        for task in self._own:
            task.cancel()
        await asyncio.gather(*self._own, *(p.stop() for p in self._pods.values()))

    async def shut_down(self) -> None:
        """The node goes down in order: all pods end, and their volumes are unmounted."""
        await asyncio.gather(*(p.shut_down() for p in self._pods.values()))

    async def lose(self) -> None:
        """The power is off: no container is left."""
        await self.stop()
        self._pods.clear()

    def see_node(self, node: dict[str, Any]) -> None:
        """The controller manager assigns a pod network, and attaches volumes."""
        self._volumes.see(node)
        found = node["spec"].get("podCIDR")
        if found:
            self._network = ipaddress.IPv4Network(found)
            self._networked.set()

    def start(self, present: Collection[str]) -> None:
        """The kubelet runs; pods that are not present any more have ended while it did not."""
        for uid in self._pods.keys() - set(present):
            del self._pods[uid]
        self._do(self._volumes.report())

    async def _prepare(self, pod: Pod) -> str:
        await self._volumes.mount(pod)
        if pod["spec"].get("hostNetwork"):
            return self._host.address
        await self._networked.wait()
        assert self._network is not None
        number = next(self._numbers) % self._network.num_addresses
        return str(self._network.network_address + number)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._own.add(task)
        task.add_done_callback(self._own.discard)
