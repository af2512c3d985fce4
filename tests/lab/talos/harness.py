"""A lab of nodes without Proxmox, as tests drive it."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from google.protobuf.empty_pb2 import Empty
from grpclib.client import Channel
from grpclib.exceptions import GRPCError, StreamTerminatedError
from tests.lab.talos.cluster_files import ClusterFiles

from talops.lab.kubernetes.pki import client_context
from talops.lab.machine import Disk, Machine, Nic, StaticNetwork
from talops.lab.talos.machine.host import TalosHost
from talops.lab.talos.machine.settings import LabSettings, Timing, Tools
from talops.lab.talos.machine.stages import Stage
from talops.talos.wire.machine_grpc import MachineServiceStub
from talops.talos.wire.machine_pb2 import ApplyConfigurationRequest, BootstrapRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from talops.lab.talos.machine.node import Node


def claim_network() -> tuple[str, socket.socket]:
    """A /24 of loopback that nothing else on this machine uses: the socket holds it."""
    while True:
        network = f"127.{random.randrange(16, 240)}.{random.randrange(256)}"
        holder = socket.socket()
        try:
            holder.bind((f"{network}.254", 49999))
        except OSError:
            holder.close()
        else:
            return network, holder


class Lab:
    """Machines by name; `address("cp-1")` and all else follows from the order of creation."""

    def __init__(self, directory: Path, tools: Tools, **settings: Any) -> None:
        self.network, self._claim = claim_network()
        self.directory = directory
        timing = settings.pop("timing", Timing(scale=0.0, grace=2.0, lease=1.0))
        self.settings = LabSettings(directory / "lab", tools, timing, **settings)
        self.host = TalosHost(self.settings)
        self.files = ClusterFiles(f"https://{self.network}.250:6443")
        self.machines: dict[str, Machine] = {}
        self.addresses: dict[str, str] = {}  # of machines that chose their own
        self._channels: dict[tuple[str, str], Channel] = {}

    def address(self, name: str) -> str:
        number = list(self.machines).index(name) + 1
        return self.addresses.get(name, f"{self.network}.{number}")

    def node(self, name: str) -> Node:
        found = self.host.node(name)
        assert found is not None
        return found

    def machine(self, name: str, *, version: str = "v1.13.9", **overrides: Any) -> Machine:
        image = self.directory / f"talos-{version}.iso"
        image.write_bytes(f'{{"version": "{version}"}}\n'.encode())
        number = len(self.machines) + 1
        fields: dict[str, Any] = {
            "uuid": f"00000000-0000-4000-8000-{number:012d}",
            "vmid": 100 + number,
            "node": "pve",
            "name": name,
            "cores": 2,
            "memory": 2 * 2**30,
            "nics": (Nic(f"BC:24:11:00:00:{number:02X}", "vmbr0"),),
            "disks": (Disk("scsi0", 20 * 2**30, serial=f"disk-{number}"),),
            "cdrom": image,
            "network": StaticNetwork(f"{self.network}.{number}/24"),
            **overrides,
        }
        self.machines[name] = Machine(**fields)
        return self.machines[name]

    async def start(self, *names: str, **overrides: Any) -> None:
        for name in names:
            await self.host.power_on(self.machine(name, **overrides))

    def maintenance(self, name: str) -> MachineServiceStub:
        return MachineServiceStub(self.channel(name, maintenance=True))

    def api(self, name: str, *roles: str) -> MachineServiceStub:
        return MachineServiceStub(self.channel(name, *roles))

    def channel(self, name: str, *roles: str, maintenance: bool = False) -> Channel:
        key = (name, "maintenance" if maintenance else ",".join(roles))
        if key not in self._channels:
            if maintenance:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            else:
                context = client_context(self.files.os_ca.crt, self.files.client(*roles))
            context.set_alpn_protocols(["h2"])
            self._channels[key] = Channel(self.address(name), 50000, ssl=context)
        return self._channels[key]

    async def apply(self, name: str, config: bytes) -> Any:
        """As soon as the machine is in maintenance mode."""
        request = ApplyConfigurationRequest(data=config)
        return await until(lambda: self.maintenance(name).ApplyConfiguration(request))

    async def configure(self, name: str, *more: dict[str, Any], **machine: Any) -> None:
        kind = "controlplane" if name.startswith("cp") else "worker"
        await self.apply(name, self.files.config(kind, name, *more, **machine))

    async def up(self, *names: str) -> None:
        """Until they run their config from their own disk and answer every authorized client."""
        for name in names:

            async def runs(name: str = name) -> bool:
                services = self.node(name).services
                return services.running("cri") and services.running("apid")

            await until(runs)
            await until(partial(self.api(name).Version, Empty()))

    async def bootstrap(self, name: str) -> None:
        await self.up(name)
        await until(lambda: self.api(name).Bootstrap(BootstrapRequest()))

    async def listening(self, name: str) -> None:
        async def connect() -> bool:
            _, writer = await asyncio.open_connection(self.address(name), 50000)
            writer.close()
            return True

        await until(connect)

    async def stage(self, name: str, stage: Stage, *, ready: bool = True) -> None:
        async def reached() -> bool:
            status = self.node(name).status
            return status.stage is stage and status.ready is ready

        await until(reached)

    async def ready(self, *names: str) -> None:
        for name in names or self.machines:
            await self.stage(name, Stage.RUNNING)

    async def cluster(self, *names: str) -> None:
        """From nothing to a cluster of these nodes, founded by the first."""
        await self.start(*names)
        for name in names:
            await self.configure(name)
        await self.bootstrap(names[0])
        await self.ready(*names)

    async def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
        await self.host.close()
        self._claim.close()


async def until(probe: Callable[[], Awaitable[Any]], limit: float = 150.0) -> Any:
    """The first answer that is neither empty nor an error."""
    deadline = time.monotonic() + limit
    while True:
        last: object
        try:
            last = await probe()
        except (GRPCError, StreamTerminatedError, OSError) as error:
            last = error
        if last and not isinstance(last, Exception):
            return last
        assert time.monotonic() < deadline, f"still {last!r} after {limit} s"
        await asyncio.sleep(0.02)
