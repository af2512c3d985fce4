"""The real processes of a control plane: an etcd member and an API server."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, NotReadyError, TalopsError, UnreachableError
from talops.lab.kubernetes.etcd import EtcdMember, EtcdSettings
from talops.lab.talos.cluster.serving import Serving
from talops.lab.talos.machine.failures import SequenceFailedError

if TYPE_CHECKING:
    from pathlib import Path

    from talops.lab.kubernetes.process import Process
    from talops.lab.talos.machine.node import Node

_POLL = 0.2
_PAUSE = 0.25
_METRICS_PORT, _METRICS_SINCE = 2383, 14
_HEALTH_LIMIT = 60.0
_LEAVE_LIMIT = 30.0


@dataclass(frozen=True)
class Bootstrap:
    """How to bootstrap etcd."""

    recover: bool = False
    skip_hash_check: bool = False


class ControlPlane:
    """Idle on workers."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.etcd: EtcdMember | None = None
        self.serving = Serving(node)
        self.member_id = 0
        self._bootstrap: Bootstrap | None = None
        self._learner: int | None = None
        self._left = False

    @property
    def etcd_running(self) -> bool:
        return self.etcd is not None and self.etcd.running

    @property
    def api_ready(self) -> bool:
        return self.serving.ready

    @property
    def has_pods(self) -> bool:
        return self.serving.has_pods

    @property
    def serves(self) -> bool:
        """Whether this one has the API server of a big lab, or is starting it."""
        return self.serving.serves

    @property
    def has_data(self) -> bool:
        """Also true between an accepted bootstrap and etcd's first write."""
        data = self._node.store.etcd / "data"
        return self._bootstrap is not None or (data.is_dir() and any(data.iterdir()))

    def found_cluster(self, bootstrap: Bootstrap) -> None:
        self._bootstrap = bootstrap
        config = self._node.config
        assert config is not None
        accepted = self._node.fabric.foundings.setdefault(config.cluster_id, [])
        accepted.append(self._node.hostname)

    async def bring_up_etcd(self) -> None:
        """Until this member has quorum; without a bootstrap possibly never."""
        node = self._node
        while not node.time_in_sync:
            node.services.set("etcd", "Waiting", "Waiting for time sync")
            await asyncio.sleep(_POLL)
        node.services.set("etcd", "Preparing", "Running pre state")
        self.etcd = await asyncio.to_thread(self._member, await node.settings.tools("etcd"))
        if self.has_data and self._bootstrap is None:
            await self.etcd.start()
        else:
            await self._found_or_join(self.etcd)
        node.services.set("etcd", "Running", "Started task")
        await self._until_healthy(self.etcd)
        self._bootstrap = None
        self.member_id = int((await self.etcd.client.status())["header"]["member_id"])
        node.services.set("etcd", "Running", healthy=True)

    async def _found_or_join(self, etcd: EtcdMember) -> None:
        node = self._node
        node.journal.kmsg(
            "etcd is waiting to join the cluster, if this node is the first node in the cluster,"
            f" please run `talosctl bootstrap` against one of the following IPs: {node.addresses}"
        )
        while True:
            if self._bootstrap is not None:
                await self._found(etcd, self._bootstrap)
                return
            for address in node.fabric.etcd_members(node):
                try:
                    self._learner = await etcd.join(address)
                except (ConflictError, NotReadyError, UnreachableError) as error:
                    node.journal.log("etcd", f"error adding member: {error}")
                    continue
                return
            await asyncio.sleep(_POLL)

    async def _found(self, etcd: EtcdMember, bootstrap: Bootstrap) -> None:
        node = self._node
        if not bootstrap.recover:
            await etcd.bootstrap()
            return
        snapshot = node.store.recovery.read_bytes()
        try:
            await etcd.restore(snapshot, skip_hash_check=bootstrap.skip_hash_check)
        except ConflictError as error:
            self._bootstrap = None
            text = f"error recovering from the snapshot: {error.what}"
            node.services.set("etcd", "Failed", text, healthy=False)
            raise SequenceFailedError(text) from error
        node.store.recovery.unlink()

    async def _until_healthy(self, etcd: EtcdMember) -> None:
        while True:
            try:
                await etcd.wait_healthy(_HEALTH_LIMIT)
            except (NotReadyError, TimeoutError) as error:
                self._node.services.set("etcd", "Running", str(error), healthy=False)
                if not etcd.running:
                    await asyncio.sleep(_POLL)
                    await etcd.start()
                continue
            return

    async def promote_forever(self) -> None:
        """Promote this learner; retries until it succeeds."""
        while True:
            await asyncio.sleep(_POLL)
            if self._learner is None or self.etcd is None:
                continue
            for address in self._node.fabric.etcd_members(self._node):
                if await self.etcd.promote(address, self._learner):
                    self._learner = None
                    self._node.journal.kmsg("successfully promoted etcd member")
                    break

    async def supervise(self) -> None:
        """Restart ended processes, as Talos and the kubelet do; apply config changes."""
        while True:
            await asyncio.sleep(1.0)
            if self._left:
                continue
            if self.etcd is not None and not self.etcd.running:
                self._node.services.set("etcd", "Waiting", "etcd ended", healthy=False)
                if self._node.faults.etcd_lost:
                    self.serving.ready = False
                    continue
                await self.etcd.start()
                await self._until_healthy(self.etcd)
                self._node.services.set("etcd", "Running", healthy=True)
            await self.serving.supervise()

    async def leave(self) -> None:
        """Remove this member from etcd and delete its data; the last one cannot leave."""
        etcd = self.etcd
        if etcd is None or not etcd.running:
            return
        self._left = True
        try:
            status = await etcd.client.status()
            others = self._node.fabric.etcd_members(self._node)
            await self._remove(etcd, int(status["header"]["member_id"]), others)
        except TalopsError as error:
            self._left = False
            raise SequenceFailedError(f"failed to leave etcd cluster: {error.what}") from error
        await self.stop(grace=5.0)
        etcd.wipe()

    async def _remove(self, etcd: EtcdMember, identifier: int, others: list[str]) -> None:
        """Through another member if there is one, because this one stops when it is removed.

        etcd refuses while it has not seen all members for some seconds, so a refusal of that kind
        is tried again.
        """
        deadline = time.monotonic() + _LEAVE_LIMIT
        while True:
            client = etcd.peer(others[0]) if others else etcd.client
            try:
                await client.remove(identifier)
            except TalopsError as error:
                if "member not found" in error.what:
                    return
                if not others or time.monotonic() > deadline:
                    raise
            else:
                return
            finally:
                if others:
                    await client.close()
            await asyncio.sleep(_POLL)

    async def stop(self, *, grace: float) -> None:
        """The API server first: it cannot stop cleanly without its etcd."""
        await self.serving.stop(grace=grace)
        if self.etcd is not None:
            await self.etcd.stop(grace=grace)
            await self.etcd.close()
            self.etcd = None
        self._learner = self._bootstrap = None
        self.member_id = 0
        self._left = False
        await self._node.fabric.settle_vips()

    async def disturb_etcd(self, *, lost: bool) -> None:
        """A fault, at each tick of the lab: it is killed, or pauses for half of the time."""
        process = self.etcd.process if self.etcd is not None else None
        if process is None or not process.running:
            return
        if lost:
            await process.stop(grace=0.0)
            return
        process.freeze()
        asyncio.get_running_loop().call_later(_PAUSE, self._resume, process)

    def _resume(self, process: Process) -> None:
        """A node without a network stays frozen."""
        if not self._node.apid.cut_off:
            process.resume()

    def freeze(self, *, frozen: bool) -> None:
        own = self.etcd.process if self.etcd is not None else None
        for process in (*([own] if own is not None else []), *self.serving.processes):
            if frozen:
                process.freeze()
            else:
                process.resume()

    def _member(self, binary: Path) -> EtcdMember:
        node = self._node
        assert node.config is not None
        return EtcdMember(
            EtcdSettings(
                binary=binary,
                directory=node.store.etcd,
                name=node.hostname,
                address=node.addresses[0],
                ca=node.config.authority("etcd", "ca"),
                metrics_port=_METRICS_PORT if node.minor >= _METRICS_SINCE else None,
            )
        )
