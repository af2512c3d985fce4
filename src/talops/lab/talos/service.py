"""The nodes as one part of a lab, beside its Proxmox and its Image Factory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.talos.host import TalosHost

if TYPE_CHECKING:
    from talops.lab.machine import Machine, MachinePower
    from talops.lab.talos.settings import LabSettings


class TalosService:
    """A `Service` and a `MachineHost`: give it to the hypervisors, and them to it."""

    name = "talos"

    def __init__(self, settings: LabSettings) -> None:
        self._settings = settings
        self.host = TalosHost(settings)

    def connect(self, power: MachinePower) -> None:
        """Whom a guest tells that it has switched itself off."""
        self.host.power = power

    async def start(self) -> None:
        power = self.host.power
        self.host = TalosHost(self._settings, power)

    async def stop(self) -> None:
        await self.host.close()

    async def power_on(self, machine: Machine) -> None:
        await self.host.power_on(machine)

    async def power_off(self, uuid: str, *, graceful: bool) -> None:
        await self.host.power_off(uuid, graceful=graceful)

    async def destroy(self, uuid: str) -> None:
        await self.host.destroy(uuid)

    def endpoints(self) -> dict[str, Any]:
        return {
            "directory": str(self._settings.directory),
            "nodes": [
                {
                    "name": node.machine.name,
                    "addresses": list(node.addresses),
                    "stage": node.status.stage.label,
                    "ready": node.status.ready,
                    "version": node.version,
                }
                for node in self.host.fabric.nodes()
            ],
        }
