"""The kubelet's side of volumes: reported in use before they are attached, until unmounted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from talops.errors import NotReadyError
from talops.lab.kubernetes.pods.plan import claims

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from talops.lab.kubernetes.api import KubeApi
    from talops.lab.kubernetes.pods.host import PodHost
    from talops.lab.kubernetes.pods.plan import Pod


class NodeVolumes:
    """The mounted volumes of one node. The attach-detach controller detaches a volume only when
    the node does not report it in use any more.
    """

    def __init__(self, host: PodHost) -> None:
        self._host = host
        self._users: dict[str, set[str]] = {}  # uids of pods by volume
        self._attached: set[str] = set()
        self._changed = asyncio.Event()
        self._reported: list[str] | None = None
        self._reporting = asyncio.Lock()

    def see(self, node: dict[str, Any]) -> None:
        found = node.get("status", {}).get("volumesAttached") or ()
        self._attached = {volume["name"] for volume in found}
        self._changed.set()

    async def mount(self, pod: Pod) -> None:
        """Until all volumes of this pod are attached."""
        wanted = [name async for name in self._names(pod)]
        for name in wanted:
            self._users.setdefault(name, set()).add(pod["metadata"]["uid"])
        await self.report()
        while not self._attached.issuperset(wanted):
            self._changed.clear()
            await self._changed.wait()

    async def unmount(self, pod: Pod) -> None:
        for users in self._users.values():
            users.discard(pod["metadata"]["uid"])
        self._users = {name: users for name, users in self._users.items() if users}
        await self.report()

    async def report(self) -> None:
        """Also once after each start, because the API server remembers the last boot's."""
        async with self._reporting:
            used = sorted(self._users)
            if used != self._reported:
                body = {"status": {"volumesInUse": used or None}}
                path = f"/api/v1/nodes/{self._host.name}/status"
                await self._host.call(lambda api: api.merge(path, body))
                self._reported = used

    async def _names(self, pod: Pod) -> AsyncIterator[str]:
        for claim in claims(pod):
            path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/persistentvolumeclaims"
            volume = await self._bound(f"{path}/{claim}")
            for name in _attachable(volume):
                yield name

    async def _bound(self, path: str) -> dict[str, Any]:
        """The scheduler waits for this, so that it is seldom asked twice."""

        async def look(api: KubeApi) -> dict[str, Any]:
            claim = await api.get(path) or {"spec": {}}
            name = claim["spec"].get("volumeName")
            volume = await api.get(f"/api/v1/persistentvolumes/{name}") if name else None
            if volume is None:
                raise NotReadyError("the claim is not bound", where=path)
            return volume

        found: dict[str, Any] = await self._host.call(look)
        return found


def _attachable(volume: dict[str, Any]) -> Iterator[str]:
    """The name under which the attach-detach controller knows it."""
    csi = volume["spec"].get("csi")
    if csi:
        yield f"kubernetes.io/csi/{csi['driver']}^{csi['volumeHandle']}"
