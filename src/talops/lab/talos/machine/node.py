"""One node: its parts and its present state; `life` is its life cycle."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
import uuid
from typing import TYPE_CHECKING

from talops.lab.talos.apid import Apid
from talops.lab.talos.cluster.control_plane import ControlPlane
from talops.lab.talos.cluster.registration import Registration
from talops.lab.talos.config.cuts import cut_by
from talops.lab.talos.config.document import link_addresses
from talops.lab.talos.machine.conditions import unmet
from talops.lab.talos.machine.disks import BlockDevice, block_devices
from talops.lab.talos.machine.journal import Journal
from talops.lab.talos.machine.services import ServiceBoard
from talops.lab.talos.machine.settings import dhcp_reservations, minor_of
from talops.lab.talos.machine.stages import Stage, Status
from talops.lab.talos.machine.store import MachineStore, machine_directory
from talops.lab.talos.resources.definitions import owned
from talops.lab.talos.resources.kinds import COMPONENTS
from talops.lab.talos.resources.store import ResourceStore
from talops.lab.talos.resources.views import describe, member

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.kubernetes.pki import KeyPair
    from talops.lab.machine import Machine
    from talops.lab.talos.cluster.fabric import Fabric
    from talops.lab.talos.config.document import MachineConfig
    from talops.lab.talos.machine.failures import NextAction
    from talops.lab.talos.machine.faults import FaultBook, Faults
    from talops.lab.talos.machine.settings import LabSettings


class Node:
    """Shared by the API, the sequences and the control plane of one machine."""

    def __init__(
        self, machine: Machine, settings: LabSettings, fabric: Fabric, book: FaultBook
    ) -> None:
        self.machine = machine
        self.settings = settings
        self.fabric = fabric
        self.book = book
        self.store = MachineStore(machine_directory(settings, machine.uuid))
        self.journal = Journal()
        self.resources = ResourceStore()
        self.services = ServiceBoard(self.journal, self.publish)
        self.control_plane = ControlPlane(self)
        self.registration = Registration(self)
        self.apid = Apid(self)
        self.config: MachineConfig | None = None
        self.config_arrived = asyncio.Event()
        self.applying = asyncio.Lock()
        self.addresses: tuple[str, ...] = ()
        self.status = Status(Stage.UNKNOWN)
        self.version = settings.default_version
        self.schematic = ""
        self.boot_id = ""
        self.booted_at = 0.0
        self.bootstrap_allowed = False
        self.installing = False  # an installer runs
        self.cut_by_config = ""  # why its own config makes it unreachable
        self.reboots_for_config = False  # an applied config reboots it; it accepts no other config
        self.rollback: asyncio.TimerHandle | None = None
        # A config was stored in this boot: Talos shows the stored one only from then on.
        self.persisted = False
        # The certificates that this boot created for its own programs, by purpose.
        self.certificates: dict[str, KeyPair] = {}
        self.ask: Callable[[NextAction], bool] = lambda _: False
        self._publishing = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def faults(self) -> Faults:
        return self.book.of(self.machine.name, self.machine.uuid)

    @property
    def minor(self) -> int:
        return minor_of(self.version)

    @property
    def hostname(self) -> str:
        """Without a configured name Talos derives a stable one from the machine's identity."""
        if self.config is not None and self.config.hostname:
            return self.config.hostname
        return f"talos-{self.machine.uuid.replace('-', '')[:3]}-{self.machine.uuid[-3:]}"

    @property
    def macs(self) -> tuple[str, ...]:
        return tuple(nic.mac.lower() for nic in self.machine.nics)

    @property
    def in_maintenance(self) -> bool:
        return self.config is None or not self.config.complete

    @property
    def api_up(self) -> bool:
        return self.apid.secure

    @property
    def discovers(self) -> bool:
        """Whether this node finds others by the discovery service."""
        config = self.config
        return config is not None and config.discovery_service and self.settings.discovery

    @property
    def reachable(self) -> bool:
        return bool(self.addresses) and not self.apid.cut_off

    def given_addresses(self) -> list[str]:
        """From the cloud-init drive and from DHCP."""
        found = []
        if self.machine.network is not None:
            found.append(self.machine.network.address.partition("/")[0])
        reservations = dhcp_reservations(self.settings)
        return found + [reservations[mac] for mac in self.macs if mac in reservations]

    def keep_config(self) -> None:
        """End the timer of a trial: its config stays active."""
        if self.rollback is not None:
            self.rollback.cancel()
            self.rollback = None

    def judge_network(self) -> None:
        """Whether the config cuts the node off; the lab's next tick does it."""
        if self.config is None or not self.addresses:
            return
        given = self.given_addresses()
        held = {*given, *link_addresses(self.config, self.macs)}
        # After a change of its cloud-init drive it has two: one of them is enough to be reached.
        address = next((each for each in self.addresses if each in held), self.addresses[0])
        self.cut_by_config = cut_by(self.config, self.macs, address, elsewhere=given)

    @property
    def devices(self) -> list[BlockDevice]:
        return block_devices(self.machine, renamed=self.faults.wrong_disk)

    @property
    def started_text(self) -> str:
        """When it booted, as Kubernetes writes times."""
        return dt.datetime.fromtimestamp(self.booted_at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def time_in_sync(self) -> bool:
        return not self.faults.clock_skew

    @property
    def now(self) -> float:
        return time.time() + self.faults.clock_skew

    def reborn(self) -> None:
        """A boot starts with empty memory."""
        self.journal = Journal()
        self.services = ServiceBoard(self.journal, self.publish)
        self.boot_id = str(uuid.uuid4())
        self.booted_at = time.time()
        self.config = None
        self.config_arrived = asyncio.Event()
        self.bootstrap_allowed = False
        self.reboots_for_config = self.installing = self.persisted = False
        self.keep_config()
        self.cut_by_config = ""
        self.certificates = {}
        self.publish()

    def enter(self, stage: Stage) -> None:
        checked = stage in {Stage.BOOTING, Stage.RUNNING}
        status = Status(stage, unmet(self) if checked else ())
        if status == self.status:
            return
        self.status = status
        self.journal.event(status.event())
        self.journal.kmsg(f"machine is {stage.label}, ready: {status.ready}")
        self.publish()

    def publish(self) -> None:
        """Resources follow the state; several changes at once cause one update."""
        if not self._publishing:
            self._publishing = True
            asyncio.get_running_loop().call_soon(self._publish_now)

    def _publish_now(self) -> None:
        self._publishing = False
        self.enter(self.status.stage)  # what it depends on may have changed
        before = self._component_versions()
        self.resources.replace(owned(found, self.minor) for found in describe(self))
        if self._component_versions() != before:
            self.publish()  # other resources repeat these versions

    def _component_versions(self) -> list[int]:
        found = [self.resources.get((*kind, name)) for name, kind in COMPONENTS.items()]
        return [stored.version for stored in found if stored is not None]

    def keep(self, task: asyncio.Task[None]) -> None:
        """Keep a reference until the task is done, because asyncio does not."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def announce(self) -> None:
        """Announce this node to the other nodes of the cluster."""
        if self.config is not None and self.discovers:
            self.fabric.discovery(self.config.cluster_id).put(owned(member(self), self.minor))

    def withdraw(self) -> None:
        if self.config is not None:
            self.fabric.discovery(self.config.cluster_id).remove(member(self).key)
