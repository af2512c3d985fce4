"""One Proxmox installation: everything that its nodes share."""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from typing import TYPE_CHECKING, TypeVar

from talops.lab.proxmox.access.login import Login
from talops.lab.proxmox.access.rights import Rights
from talops.lab.proxmox.call import RawJson
from talops.lab.proxmox.clock import Clock
from talops.lab.proxmox.errors import failed
from talops.lab.proxmox.locks import Locks
from talops.lab.proxmox.resources import Pvestatd
from talops.lab.proxmox.storage.storages import Storages
from talops.lab.proxmox.storage.volumes import Volumes
from talops.lab.proxmox.store import Document, Store, Table, documents
from talops.lab.proxmox.tasks import Tasks
from talops.lab.proxmox.vm.drives import parse
from talops.lab.proxmox.vm.records import Vm

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from talops.lab.faults import Faults
    from talops.lab.machine import Machine, MachineHost
    from talops.lab.spec import HypervisorSpec, NodeSpec

T = TypeVar("T")
VERSION = {"version": "9.2.11", "release": "9.2", "repoid": "14a22df3"}


class NoMachines:
    """Machines without a guest: power only changes the VM's status."""

    async def power_on(self, machine: Machine) -> None:
        pass

    async def power_off(self, uuid: str, *, graceful: bool) -> None:
        pass

    async def destroy(self, uuid: str) -> None:
        pass


class Hypervisor:
    def __init__(
        self,
        spec: HypervisorSpec,
        *,
        state: Path,
        faults: Faults,
        machines: MachineHost | None = None,
        trust: ssl.SSLContext | None = None,
        addresses: dict[str, str] | None = None,
        pace: float = 0.0,
        patience: float = 1.0,
    ) -> None:
        self.spec, self.name, self.faults, self.pace = spec, spec.name, faults, pace
        self.stats = Pvestatd()
        self._paused: set[int] = set()
        self._dice = random.Random(spec.name)  # noqa: S311  (repeatable)
        self.nodes: dict[str, NodeSpec] = {node.name: node for node in spec.nodes}
        self.machines: MachineHost = machines or NoMachines()
        self.trust = trust
        self.addresses: dict[str, str] = addresses or {}
        self.fingerprint = ""
        self.last_resources: tuple[tuple[object, ...], RawJson] = ((), RawJson(b""))
        self.store = Store(state / "state.db")
        self.clock = Clock(faults, spec.name)
        self.locks = Locks(patience)
        self.tasks = Tasks(self.store, self.clock, faults, host=spec.name, pace=pace)
        self._open_tables(state)

    def _open_tables(self, state: Path) -> None:
        def table(kind: str) -> Table[Document]:
            return documents(self.store, kind)

        self.users, self.tokens, self.groups = table("user"), table("token"), table("group")
        self.roles, self.acl, self.pools = table("role"), table("acl"), table("pool")
        self.mappings, self.network, self.ha = table("mapping"), table("network"), table("ha")
        self.pending_network = table("pending-network")
        self.settings = table("setting")
        self.vms: Table[Vm] = Table(self.store, "vm", lambda body: Vm(**body), Vm.stored)
        self.storages = Storages(
            table("storage"),
            table("capacity"),
            Volumes(self.store),
            root=state / "storage",
            faults=self.faults,
            host=self.name,
        )
        self.rights = Rights(
            self.store,
            users=self.users,
            tokens=self.tokens,
            roles=self.roles,
            acl=self.acl,
            pools=self.pools,
        )
        if "secret" not in self.settings:
            self.settings.put("secret", {"key": secrets.token_hex(32)})
        key = self.settings["secret"]["key"]
        self.login = Login(key, self.users, self.tokens, self.clock.now)

    async def close(self) -> None:
        await self.tasks.close()
        self.store.close()

    @property
    def first(self) -> str:
        return self.spec.nodes[0].name

    @staticmethod
    def uptime() -> float:
        """Seconds that only increase, independent of the host's clock."""
        return time.monotonic()

    def shuffled(self, rows: list[T]) -> list[T]:
        """In the order of a Perl hash: a different one each time."""
        self._dice.shuffle(rows)
        return rows

    def mixed(self, names: str) -> str:
        """The same for a list in a string."""
        return ",".join(self.shuffled(names.split(",")))

    def paused(self, vmid: int) -> bool:
        return vmid in self._paused

    def halt(self, vmid: int, *, halted: bool) -> None:
        if halted:
            self._paused.add(vmid)
        else:
            self._paused.discard(vmid)

    def offline(self, node: str) -> bool:
        return bool(self.faults.find("node-offline", host=self.name, node=node))

    def has_bridge(self, node: str, bridge: str) -> bool:
        entry = self.network.get(f"{node}/{bridge}")
        return bool(entry and entry["type"] in {"bridge", "OVSBridge"} and entry.get("active"))

    def devices_of(self, vm: Vm) -> tuple[str, ...]:
        """The host's PCI addresses that the VM gets, with mappings resolved."""
        found: list[str] = []
        config = vm.running if vm.running is not None else vm.config
        for key in sorted(key for key in config if key.startswith("hostpci")):
            device = parse(str(config[key]), "host")
            if "mapping" in device:
                found += self._mapped(device["mapping"], vm.node)
            else:
                found += device["host"].split(";")
        return tuple(found)

    def _mapped(self, name: str, node: str) -> list[str]:
        from talops.lab.proxmox.hardware import entries_on, mismatch

        mapping = self.mappings.get(name)
        here = entries_on(mapping, node) if mapping else []
        if mapping is None or not here:
            raise failed(f"PCI device mapping not found for '{name}'")
        problem = mismatch(self, mapping, here[0], node)
        if problem:
            raise failed(f"PCI device mapping invalid (hardware probably changed): {problem}")
        return here[0]["path"].split(";")

    async def machine_gone(self, vm: Vm) -> None:
        from talops.lab.proxmox.vm.power import uuid_of

        await self.machines.destroy(uuid_of(vm))

    def vm_by_uuid(self, uuid: str) -> Vm | None:
        from talops.lab.proxmox.vm.power import uuid_of

        return next((vm for vm in self.vms.values() if uuid_of(vm) == uuid), None)


def token_secret(value: str) -> str:
    """Only a digest of a token's value is kept."""
    return hashlib.sha256(value.encode()).hexdigest()
