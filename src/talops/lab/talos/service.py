"""The lab's Talos nodes as a service: each lives as long as its VM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.talos.machine.host import TalosHost
from talops.lab.talos.machine.settings import LabSettings, Timing

if TYPE_CHECKING:
    from talops.lab.context import LabContext
    from talops.lab.kubernetes.api import KubeApi
    from talops.lab.machine import Machine, MachinePower
    from talops.lab.talos.machine.node import Node
    from talops.lab.talos.machine.settings import Tools


class TalosService:
    """Started before the Proxmox that runs its machines, and stopped after it."""

    name = "talos"

    def __init__(self, context: LabContext, tools: Tools, power: MachinePower) -> None:
        self._context = context
        self._tools = tools
        self._power = power
        self.host: TalosHost | None = None

    async def start(self) -> None:
        spec = self._context.spec
        settings = LabSettings(
            self._context.layout.state(self.name),
            self._tools,
            Timing(scale=spec.timing),
            reservations=spec.reservations,
            discovery=spec.discovery,
            apiservers=spec.apiservers,
            workloads=spec.workloads,
        )
        self.host = TalosHost(settings, self._power, self._context.faults)

    async def stop(self) -> None:
        if self.host:
            await self.host.close()
            self.host = None

    def endpoints(self) -> dict[str, Any]:
        nodes = self.host.fabric.nodes() if self.host else []
        return {
            "port": 50000,
            "network": self._context.network.cidr,
            "faults": str(self._context.layout.state(self.name) / "faults"),
            "nodes": {node.machine.name: _summary(node) for node in nodes},
        }

    def kube_apis(self) -> dict[str, KubeApi]:
        return self.host.fabric.kube_apis() if self.host else {}

    async def power_on(self, machine: Machine) -> None:
        assert self.host
        await self.host.power_on(machine)

    async def power_off(self, uuid: str, *, graceful: bool) -> None:
        if self.host:
            await self.host.power_off(uuid, graceful=graceful)

    async def destroy(self, uuid: str) -> None:
        if self.host:
            await self.host.destroy(uuid)


def _summary(node: Node) -> dict[str, Any]:
    return {
        "addresses": list(node.addresses),
        "stage": node.status.stage.label,
        "ready": node.status.ready,
        "version": node.version,
        "kubelet": node.registration.trouble,
    }
