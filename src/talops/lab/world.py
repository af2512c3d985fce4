"""A lab: a list of services with one network, one CA and one set of faults."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import shutil
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, Self

from talops.errors import ConflictError
from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.lab import identity as identities
from talops.lab.context import LabContext
from talops.lab.control import Control
from talops.lab.factory.service import FactoryService
from talops.lab.faults import Faults
from talops.lab.flux.service import FluxService
from talops.lab.git.service import GitService
from talops.lab.layout import Layout
from talops.lab.network import claim
from talops.lab.opentofu import ProviderService
from talops.lab.pki import Authority
from talops.lab.proxmox.service import ProxmoxService
from talops.lab.releases.service import ReleasesService
from talops.lab.talos.service import TalosService
from talops.lab.tools import NOTHING
from talops.lab.truenas.service import TrueNasService

if TYPE_CHECKING:
    import socket
    from pathlib import Path
    from types import TracebackType

    from talops.lab.service import Service
    from talops.lab.spec import LabSpec
    from talops.lab.tools import LabTools


class World:
    """Everything that runs while a lab runs. Use it as an async context manager in tests."""

    def __init__(
        self, directory: Path, spec: LabSpec | None = None, tools: LabTools = NOTHING
    ) -> None:
        make_private_directory(directory)
        self.layout = Layout(directory.resolve())
        known = identities.load(self.layout)
        self.identity = known or identities.new(spec or _default())
        if known and spec:
            self.identity = replace(known, spec=spec)
        self._lock = _lock(self.layout)
        self.stopping = asyncio.Event()
        self.network, self._listener = self._claim()
        self.authority = Authority(self.layout.pki)
        self.authority.ensure()
        self.faults = Faults(self.layout.faults)
        context = LabContext(
            spec=self.identity.spec,
            layout=self.layout,
            network=self.network,
            authority=self.authority,
            credentials=self.identity.credentials,
            faults=self.faults,
        )
        self.factory = FactoryService(context)
        self.proxmox = ProxmoxService(context)
        self.truenas = TrueNasService(context)
        # Started in this order and stopped in the reverse one.
        self.services: list[Service] = [self.factory, self.proxmox, self.truenas]
        if tools.control_plane:
            self.talos = TalosService(context, tools.control_plane, self.proxmox)
            self.proxmox.machines = self.talos
            self.services.insert(1, self.talos)
            folder = self.layout.state
            self.flux = FluxService(
                lambda: folder("flux"),
                self.talos.kube_apis,
                tools.control_plane,
                plays=not context.spec.workloads,
            )
            self.services += [ReleasesService(context), GitService(context), self.flux]
        if tools.provider:
            self.services.append(ProviderService(context, tools.provider))
        self.control = Control(self)

    def _claim(self) -> tuple[Any, socket.socket]:
        try:
            network, listener = claim(self.layout.root, self.identity.network)
        except BaseException:
            self._lock.close()
            raise
        self.identity = replace(self.identity, network=network.number)
        self.identity.save(self.layout)
        return network, listener

    async def start(self) -> None:
        started: list[Service] = []
        try:
            for service in self.services:
                await _start(service)
                started.append(service)
            await self.control.start(self._listener)
        except BaseException:
            for service in reversed(started):
                await service.stop()
            self._listener.close()
            self._lock.close()
            raise
        write_atomic(
            self.layout.running, json.dumps(self.endpoints(), indent=2) + "\n", mode=PRIVATE
        )

    async def stop(self) -> None:
        for service in reversed(self.services):
            await service.stop()
        # Last: a lab that gets this address can use all the others, too.
        await self.control.stop()
        self._listener.close()
        self.layout.running.unlink(missing_ok=True)
        self._lock.close()

    async def reset(self) -> None:
        """Remove all state except the lab's identity: empty hosts, same addresses and passwords."""
        for service in reversed(self.services):
            await service.stop()
        shutil.rmtree(self.layout.root / "state", ignore_errors=True)
        self.faults.remove(None)
        for service in self.services:
            await service.start()

    def endpoints(self) -> dict[str, Any]:
        return {
            "directory": str(self.layout.root),
            "pid": os.getpid(),
            "network": self.network.cidr,
            "ca_file": str(self.authority.certificate),
            "control": {"url": self.control.url, "token": self.identity.control_token},
            **{service.name: service.endpoints() for service in self.services},
        }

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()


def _default() -> LabSpec:
    from talops.lab.spec import usual

    return usual()


async def _start(service: Service) -> None:
    try:
        await service.start()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise ConflictError(
            f"the lab's {service.name} cannot listen: {error.strerror or error}",
            hint="stop what listens on this port of all addresses (ss -ltnp); a real Proxmox does "
            "on 8006",
        ) from error


def _lock(layout: Layout) -> IO[bytes]:
    """Held as long as the lab runs; the kernel releases it however the lab ends."""
    handle = layout.lock.open("ab")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise _busy(layout) from None
    layout.running.unlink(missing_ok=True)  # left by a lab that was killed
    return handle


def _busy(layout: Layout) -> ConflictError:
    return ConflictError(
        "a lab is already running in this directory",
        where=str(layout.root),
        hint=f"talops lab status --dir {layout.root}",
    )


def need_stopped(layout: Layout) -> None:
    if is_running(layout):
        raise _busy(layout)


def is_running(layout: Layout) -> bool:
    if not layout.lock.exists():
        return False
    with layout.lock.open("ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
