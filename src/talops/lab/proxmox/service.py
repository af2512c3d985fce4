"""The lab's Proxmox as a service: one listener per node, on the port that clients expect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aiohttp import web

from talops.lab.proxmox.errors import PveError
from talops.lab.proxmox.hypervisor import Hypervisor
from talops.lab.proxmox.seed import seed
from talops.lab.proxmox.server import Api
from talops.lab.proxmox.vm.power import describe, uuid_of

if TYPE_CHECKING:
    from talops.lab.context import LabContext
    from talops.lab.machine import MachineHost
    from talops.lab.spec import HypervisorSpec

PORT = 8006
GOODBYE = 1.0  # seconds that calls in progress get when the lab stops


class ProxmoxService:
    """All Proxmox installations of a lab."""

    name = "proxmox"

    def __init__(self, context: LabContext, machines: MachineHost | None = None) -> None:
        self._context = context
        self.machines = machines  # runs the guests; can be set before the start
        self._runners: list[web.ServerRunner] = []
        self.hypervisors: dict[str, Hypervisor] = {}

    def address(self, node: str) -> str:
        names = [n.name for host in self._context.spec.proxmox for n in host.nodes]
        return self._context.network.address(1, names.index(node) + 1)

    async def start(self) -> None:
        try:
            for spec in self._context.spec.proxmox:
                pve = self._open(spec)
                self.hypervisors[spec.name] = pve
                for node in spec.nodes:
                    await self._listen(pve, node.name)
                await self._boot(pve)
        except OSError:  # a port is in use: close all
            await self.stop()
            raise

    def _open(self, spec: HypervisorSpec) -> Hypervisor:
        pve = Hypervisor(
            spec,
            state=self._context.layout.state(f"proxmox-{spec.name}"),
            faults=self._context.faults,
            machines=self.machines,
            trust=self._context.authority.client_context(),
            addresses={node.name: self.address(node.name) for node in spec.nodes},
            pace=self._context.spec.pace,
            patience=self._context.spec.patience,
        )
        seed(pve, self._context.credentials)
        return pve

    async def _listen(self, pve: Hypervisor, node: str) -> None:
        address = self.address(node)
        context = self._context.authority.server_context(f"proxmox-{node}", [address])
        runner = web.ServerRunner(
            web.Server(Api(pve, node), access_log=None), shutdown_timeout=GOODBYE
        )
        self._runners.append(runner)
        await runner.setup()
        site = web.TCPSite(runner, address, PORT, ssl_context=context, backlog=1024)
        await site.start()

    async def _boot(self, pve: Hypervisor) -> None:
        """Start the VMs that were running when the lab stopped, if possible."""
        for vm in pve.vms.values():
            if not vm.is_running:
                continue
            try:
                await pve.machines.power_on(describe(pve, vm))
            except PveError:
                pve.vms.put(vm.key, replace(vm, running=None, since=0))
        pve.store.commit()

    async def stop(self) -> None:
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
        for pve in self.hypervisors.values():
            for vm in pve.vms.values():
                if vm.is_running:
                    await pve.machines.power_off(uuid_of(vm), graceful=False)
            await pve.close()
        self.hypervisors.clear()

    def endpoints(self) -> dict[str, Any]:
        return {
            "hosts": [
                {
                    "name": spec.name,
                    "nodes": [node.name for node in spec.nodes],
                    "endpoint": f"https://{self.address(spec.nodes[0].name)}:{PORT}/",
                    "endpoints": {
                        node.name: f"https://{self.address(node.name)}:{PORT}/"
                        for node in spec.nodes
                    },
                }
                for spec in self._context.spec.proxmox
            ],
            "username": "root@pam",
            "password": self._context.credentials.password,
            "api_token": self._context.credentials.api_token,
        }

    async def guest_powered_off(self, uuid: str) -> None:
        """The guest powered itself off: set the VM to stopped."""
        for pve in self.hypervisors.values():
            vm = pve.vm_by_uuid(uuid)
            if vm and vm.is_running:
                pve.vms.put(vm.key, replace(vm, running=None, since=0))
                pve.store.commit()
