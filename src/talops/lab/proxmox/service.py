"""The lab's Proxmox as a service: one listener per node, on the port that clients expect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from talops.lab.proxmox.hypervisor import Hypervisor
from talops.lab.proxmox.power import uuid_of
from talops.lab.proxmox.seed import Credentials, seed
from talops.lab.proxmox.server import Api

if TYPE_CHECKING:
    from talops.lab.faults import Faults
    from talops.lab.layout import Layout
    from talops.lab.machine import MachineHost
    from talops.lab.network import Network
    from talops.lab.pki import Authority
    from talops.lab.spec import LabSpec

PORT = 8006


class ProxmoxService:
    """All Proxmox installations of a lab."""

    name = "proxmox"

    def __init__(
        self,
        spec: LabSpec,
        *,
        layout: Layout,
        network: Network,
        authority: Authority,
        credentials: Credentials,
        faults: Faults,
        machines: MachineHost | None = None,
    ) -> None:
        self._spec, self._layout, self._network = spec, layout, network
        self._authority, self._credentials, self._faults = authority, credentials, faults
        self._machines = machines
        self._runners: list[web.ServerRunner] = []
        self.hypervisors: dict[str, Hypervisor] = {}

    def address(self, node: str) -> str:
        names = [n.name for host in self._spec.proxmox for n in host.nodes]
        return self._network.address(1, names.index(node) + 1)

    async def start(self) -> None:
        for spec in self._spec.proxmox:
            pve = Hypervisor(
                spec,
                state=self._layout.state(f"proxmox-{spec.name}"),
                faults=self._faults,
                machines=self._machines,
                trust=self._authority.client_context(),
                addresses={node.name: self.address(node.name) for node in spec.nodes},
                pace=self._spec.pace,
            )
            seed(pve, self._credentials)
            self.hypervisors[spec.name] = pve
            for node in spec.nodes:
                await self._listen(pve, node.name)
            await self._boot(pve)

    async def _listen(self, pve: Hypervisor, node: str) -> None:
        address = self.address(node)
        context = self._authority.server_context(f"proxmox-{node}", [address])
        runner = web.ServerRunner(web.Server(Api(pve, node), access_log=None), handle_signals=False)
        await runner.setup()
        site = web.TCPSite(runner, address, PORT, ssl_context=context, backlog=1024)
        await site.start()
        self._runners.append(runner)

    async def _boot(self, pve: Hypervisor) -> None:
        """VMs that were running when the lab went down run again."""
        from talops.lab.proxmox.power import describe

        for vm in pve.vms.values():
            if vm.is_running:
                await pve.machines.power_on(describe(pve, vm))

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
                for spec in self._spec.proxmox
            ],
            "username": "root@pam",
            "password": self._credentials.password,
            "api_token": self._credentials.api_token,
        }

    async def guest_powered_off(self, uuid: str) -> None:
        """The guest switched itself off: the VM is stopped, as nobody stopped it."""
        from dataclasses import replace

        for pve in self.hypervisors.values():
            vm = pve.vm_by_uuid(uuid)
            if vm and vm.is_running:
                pve.vms.put(vm.key, replace(vm, running=None, since=0))
                pve.store.commit()
