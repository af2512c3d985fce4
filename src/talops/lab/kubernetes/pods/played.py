"""One pod on one node, from its binding to its end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError
from talops.lab.kubernetes.pods import status
from talops.lab.kubernetes.pods.plan import grace, is_deleted, is_ready, is_terminal, plan
from talops.lab.kubernetes.pods.status import Containers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.lab.kubernetes.pods.host import PodHost
    from talops.lab.kubernetes.pods.plan import Plan, Pod

# Ordinary pods have the shutdown grace period of a Talos node without that of critical pods.
_SHUTDOWN = 20.0
_PAUSE = 1.0


class PlayedPod:
    """`prepare` returns its address as soon as its volumes and its network are there; `released`
    is called when its containers have ended.
    """

    def __init__(
        self,
        host: PodHost,
        pod: Pod,
        prepare: Callable[[Pod], Awaitable[str]],
        released: Callable[[Pod], Awaitable[None]],
    ) -> None:
        self._host = host
        self._prepare = prepare
        self._released = released
        self.pod = pod
        self.containers: Containers | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def plan(self) -> Plan:
        return plan(self.pod, start=self._host.start, stop=self._host.stop)

    @property
    def path(self) -> str:
        meta = self.pod["metadata"]
        return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"

    def see(self, pod: Pod) -> None:
        """As it is in the API now; an answer to an own call may already be newer."""
        if _version(pod) >= _version(self.pod):
            self.pod = pod
        self._changed.set()

    def start(self) -> None:
        """Also after a restart of the kubelet, which finds the containers running."""
        if self._task is None:
            self._task = asyncio.create_task(self._guarded(), name=f"pod {self.path}")

    async def stop(self) -> None:
        """The kubelet ends; the containers go on."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def shut_down(self) -> None:
        """The node goes down in order: its containers end, and Kubernetes is told."""
        await self.stop()
        found, self.containers = self.containers, None
        if found is None or is_terminal(self.pod):
            return
        await asyncio.sleep(min(self.plan.stops_after, _SHUTDOWN))
        with contextlib.suppress(ConflictError):
            await self._send(status.shut_down(self.pod, found))
        await self._released(self.pod)

    async def _guarded(self) -> None:
        """A refused call is repeated; the watch ends this when the pod does not exist any more."""
        while True:
            try:
                await self._live()
            except ConflictError as error:
                self._host.log(f"{self.path}: {error}")
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def _live(self) -> None:
        if not is_terminal(self.pod):
            await self._bring_up()
            await self._run()
        await self._until_deleted()
        if self.containers is not None:
            await self._wind_down()
        await self._released(self.pod)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.pod["metadata"]["uid"]}}
        await self._host.call(lambda api: api.delete(self.path, options))

    async def _bring_up(self) -> None:
        """Containers that ran before the node went down start again."""
        if self.containers is not None:
            return
        address = await self._unless_deleted(self._prepare(self.pod))
        if address is None:
            return
        before = (self.pod.get("status") or {}).get("containerStatuses") or ()
        restarts = max((c["restartCount"] + 1 for c in before), default=0)
        begun = status.now()
        self.containers = Containers(self._host.address, address, begun, restarts=restarts)
        ready_after = self.plan.ready_after
        if before or ready_after is None or ready_after > self._host.start:
            await self._send(status.running(self.pod, self.containers))

    async def _run(self) -> None:
        """Until its containers end, or are stopped."""
        if self.containers is None or self.plan.ready_after is None:
            return
        if not self.containers.ready:
            await self._unless_deleted(asyncio.sleep(self.plan.ready_after))
            if is_deleted(self.pod):
                return
            self.containers = dataclasses.replace(self.containers, ready=True)
            await self._send(status.running(self.pod, self.containers))
        if self.plan.runs_for is None:
            await self._stay()
            return
        await self._unless_deleted(asyncio.sleep(self.plan.runs_for))
        if not is_deleted(self.pod):
            found, self.containers = self.containers, None
            await self._send(status.finished(self.pod, found, self.plan.exit_code))
            await self._released(self.pod)

    async def _stay(self) -> None:
        """Correct what others write into its status, as a kubelet does."""
        while not is_deleted(self.pod):
            self._changed.clear()
            if self.containers is not None and is_ready(self.pod) != self.containers.ready:
                await self._send(status.running(self.pod, self.containers))
            await self._changed.wait()

    async def _wind_down(self) -> None:
        """As long as it takes, but not longer than its grace period, which may become shorter."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        while (left := begun + min(self.plan.stops_after, grace(self.pod)) - clock()) > 0:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left)
        self.containers = None

    async def _send(self, found: dict[str, Any]) -> None:
        body = {"metadata": {"uid": self.pod["metadata"]["uid"]}, "status": found}
        answer = await self._host.call(lambda api: api.patch(f"{self.path}/status", body))
        if answer is not None and _version(answer) > _version(self.pod):
            self.pod = answer

    async def _until_deleted(self) -> None:
        while not is_deleted(self.pod):
            self._changed.clear()
            await self._changed.wait()

    async def _unless_deleted(self, work: Awaitable[Any]) -> Any:
        """The result, or None if the pod is deleted first."""
        both = asyncio.ensure_future(work), asyncio.ensure_future(self._until_deleted())
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return both[0].result() if both[0].done() else None
        finally:
            for task in both:
                task.cancel()


def _version(pod: Pod) -> int:
    return int(pod["metadata"]["resourceVersion"])
