"""The lab's machines: power on, power off, and the background work between nodes."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import make_private_directory
from talops.lab.kubernetes.kubelet import mark_unknown
from talops.lab.talos.cluster.fabric import Fabric
from talops.lab.talos.machine.faults import FaultBook
from talops.lab.talos.machine.life_cycle import LifeCycle
from talops.lab.talos.machine.node import Node
from talops.lab.talos.machine.store import MachineStore, machine_directory

if TYPE_CHECKING:
    from talops.lab.faults import Faults
    from talops.lab.machine import Machine, MachinePower
    from talops.lab.talos.machine.settings import LabSettings

_TICK = 0.5
# A call that a stopping node has started ends, and may still report the node as healthy.
_LAST_CALLS = 10.0


class TalosHost:
    """A `MachineHost` whose guests are Talos nodes."""

    def __init__(
        self,
        settings: LabSettings,
        power: MachinePower | None = None,
        rules: Faults | None = None,
    ) -> None:
        self.settings = settings
        self.fabric = Fabric()
        self.faults = FaultBook(settings.directory / "faults", rules)
        self.power = power  # set later where the two halves of a lab need each other
        self._cycles: dict[str, LifeCycle] = {}
        self._absent: dict[tuple[str, str], float] = {}
        self._marked: dict[tuple[str, str], float] = {}
        self._ticker: asyncio.Task[None] | None = None
        make_private_directory(settings.directory)

    async def power_on(self, machine: Machine) -> None:
        """A running machine stays unchanged."""
        if machine.uuid in self._cycles and self._cycles[machine.uuid].alive:
            return
        node = Node(machine, self.settings, self.fabric, self.faults)
        cycle = LifeCycle(node, self.power)
        node.ask = cycle.ask
        self.fabric.add(node)
        self._cycles[machine.uuid] = cycle
        cycle.start()
        if self._ticker is None:
            self._ticker = asyncio.create_task(self._tick_forever())

    async def power_off(self, uuid: str, *, graceful: bool) -> None:
        cycle = self._cycles.pop(uuid, None)
        if cycle is None:
            return
        self._note_absence(uuid)
        await cycle.stop(graceful=graceful)
        self.fabric.remove(uuid)

    async def destroy(self, uuid: str) -> None:
        node = self.fabric.node(uuid)
        await self.power_off(uuid, graceful=False)
        if node is not None:
            node.withdraw()
        MachineStore(machine_directory(self.settings, uuid)).destroy()

    async def close(self) -> None:
        """Stop everything; disks stay for the next power-on."""
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.gather(self._ticker, return_exceptions=True)
            self._ticker = None
        await asyncio.gather(*(cycle.stop(graceful=False) for cycle in self._cycles.values()))
        self._cycles.clear()
        await self.fabric.close()

    def node(self, name: str) -> Node | None:
        """By machine name or uuid, for tests that observe a lab from inside."""
        for node in self.fabric.nodes():
            if name in {node.machine.uuid, node.machine.name}:
                return node
        return None

    async def _tick_forever(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            await self._follow_network_faults()
            await self._follow_etcd_faults()
            await self._follow_clocks()
            for node in self.fabric.nodes():
                for address in node.config.vips if node.config else ():
                    if address.startswith("127."):
                        self.fabric.vip(address)
            await self.fabric.settle_vips()
            await self._mark_absent()

    async def _follow_network_faults(self) -> None:
        for node in self.fabric.nodes():
            lost = node.faults.network_lost or bool(node.cut_by_config)
            if lost and not node.apid.cut_off and node.addresses:
                node.control_plane.freeze(frozen=True)
                await node.apid.lose_network()
            elif not lost and node.apid.cut_off and node.apid.can_open:
                node.control_plane.freeze(frozen=False)
                await node.apid.find_network()

    async def _follow_etcd_faults(self) -> None:
        for node in self.fabric.nodes():
            faults = node.faults
            if faults.etcd_lost or faults.etcd_slow:
                await node.control_plane.disturb_etcd(lost=faults.etcd_lost)

    async def _follow_clocks(self) -> None:
        """After its clock is corrected, a node creates its certificate again."""
        for node in self.fabric.nodes():
            stale = node.apid.secure and node.apid.issued_with != node.faults.clock_skew
            if stale and not node.apid.cut_off and node.apid.can_open:
                await node.apid.renew()

    def _note_absence(self, uuid: str) -> None:
        node = self.fabric.node(uuid)
        if node is not None and node.config is not None and node.registration.renewed:
            key = (node.config.cluster_id, node.hostname)
            self._absent[key] = time.monotonic()
            self._marked.pop(key, None)

    async def _mark_absent(self) -> None:
        """What Kubernetes' node controller does when a kubelet stops posting."""
        if self.settings.workloads:
            return  # the real one runs
        now = time.monotonic()
        for node in self.fabric.nodes():
            if node.config is None:
                continue
            key = (node.config.cluster_id, node.hostname)
            if _posts(node):
                self._absent.pop(key, None)
                if self._marked.pop(key, None) is not None:
                    # It may have registered while it was marked.
                    node.registration.config_changed()
            elif node.registration.renewed:
                self._absent.setdefault(key, now)
        for (cluster, name), since in list(self._absent.items()):
            api = self.fabric.kube_api(cluster)
            marked = self._marked.get((cluster, name), now)
            if now - since < self.settings.timing.grace or now - marked > _LAST_CALLS or not api:
                continue
            try:
                await mark_unknown(api, name)
            except TalopsError:
                continue  # Kubernetes itself is down; the next tick retries
            self._marked.setdefault((cluster, name), now)
            self._contradict(cluster, name)

    def _contradict(self, cluster: str, name: str) -> None:
        """A kubelet that came back meanwhile must post its status again."""
        for node in self.fabric.nodes():
            same = node.config is not None and node.config.cluster_id == cluster
            if same and node.hostname == name and _posts(node):
                node.registration.config_changed()


def _posts(node: Node) -> bool:
    """Whether a kubelet posts its status, healthy or not."""
    told = node.registration
    return not node.apid.cut_off and (told.ready or (node.faults.never_ready and told.renewed > 0))
