"""One boot of a node: maintenance mode, the installation, or the configured node."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from talops.lab.talos.config.decoding import BadConfigError, decode
from talops.lab.talos.config.document import link_addresses
from talops.lab.talos.machine import services
from talops.lab.talos.machine.disks import choose
from talops.lab.talos.machine.failures import NextAction, SequenceFailedError
from talops.lab.talos.machine.image import Image, boot_image, installer_image
from talops.lab.talos.machine.phases import phase
from talops.lab.talos.machine.stages import Stage
from talops.lab.talos.machine.store import Installation

if TYPE_CHECKING:
    from talops.lab.talos.machine.node import Node


_POLL = 0.2


class Boot:
    """Boot from the firmware on."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def run(self) -> None:
        """Ends with the installation, or when the node goes down."""
        node, timing = self._node, self._node.settings.timing
        node.reborn()
        node.enter(Stage.BOOTING)
        await asyncio.sleep(timing.of(timing.firmware) + node.faults.slow_boot)
        while node.faults.hangs:  # noqa: ASYNC110  (a fault, not an event)
            await asyncio.sleep(_POLL)
        image = self._image()
        if image is None:
            node.enter(Stage.UNKNOWN)
            node.journal.kmsg("no bootable device")
            return
        node.version, node.schematic = image.version, image.schematic
        node.journal.sequence("boot", start=True)
        async with phase(node, "boot", timing.boot):
            node.services.run(*services.MAINTENANCE)
        async with phase(node, "network"):
            self._load_persisted()
            self._set_addresses()
        if node.in_maintenance:
            await self._maintenance()
        if not image.on_disk:
            await self._install()
            return
        await self._operate()

    def _image(self) -> Image | None:
        """What the firmware boots: an installation, an image on the disk, a CD."""
        node = self._node
        installed = node.store.installation()
        if installed.staged:
            staged = installer_image(installed.staged)
            if staged is not None:
                record_installation(node, staged)
                installed = node.store.installation()
        if installed.trial:
            installed = self._first_boot(installed)
        if installed.version:
            return Image(installed.version, installed.schematic, on_disk=True)
        default = node.settings.default_version
        return boot_image(node.machine, default, blank=installed.blank)

    def _first_boot(self, installed: Installation) -> Installation:
        """The boot loader returns to the old system when a new one does not come up."""
        node = self._node
        settled = dataclasses.replace(installed, trial=False)
        if node.faults.boot_fails:
            settled = rolled_back(settled)
            node.journal.kmsg(f"boot of {installed.version} failed, booting {settled.version}")
        node.store.save(settled)
        return settled

    def _load_persisted(self) -> None:
        raw = self._node.store.config()
        if raw is None:
            return
        try:
            self._node.config = decode(raw, minor=self._node.minor)
        except BadConfigError as error:
            self._node.journal.kmsg(f"persisted config is not usable, ignoring it: {error}")

    def _set_addresses(self) -> None:
        node = self._node
        found = list(link_addresses(node.config, node.macs)) if node.config else []
        found += node.given_addresses()
        node.addresses = tuple(dict.fromkeys(a for a in found if a.startswith("127.")))
        for foreign in (a for a in found if not a.startswith("127.")):
            node.journal.kmsg(f"address {foreign} is not on the lab's network, left out")

    async def _maintenance(self) -> None:
        node = self._node
        async with phase(node, "maintenance"):
            node.enter(Stage.MAINTENANCE)
            await node.apid.open_maintenance()
            node.journal.kmsg(f"this machine is reachable at: {', '.join(node.addresses)}")
            await node.config_arrived.wait()
            await node.apid.leave_maintenance()

    async def _install(self) -> None:
        node, timing = self._node, self._node.settings.timing
        assert node.config is not None
        node.journal.sequence("install", start=True)
        node.enter(Stage.INSTALLING)
        try:
            async with phase(node, "install", timing.install):
                image = self._install_to_disk()
        except SequenceFailedError as error:
            node.journal.sequence("install", start=False, error=str(error))
            raise
        node.store.save_config(node.config.raw)
        node.journal.kmsg(f"install of {image.version} successful")
        node.journal.sequence("install", start=False)
        node.ask(NextAction("reboot", force=True))

    def _install_to_disk(self) -> Image:
        node = self._node
        assert node.config is not None
        install = node.config.install
        disk = choose(install, node.devices)
        if disk is None:
            wanted = install.get("disk") or install.get("diskSelector") or install.get("diskMatch")
            names = ", ".join(d.path for d in node.devices)
            raise SequenceFailedError(f"no disk matches {wanted}; this machine has {names}")
        if node.faults.disk_full:
            raise SequenceFailedError(f"failed to write {disk.path}: no space left on device")
        if node.faults.install_exit:
            raise SequenceFailedError(f"task failed with exit code {node.faults.install_exit}")
        reference = str(install.get("image") or "")
        image = installer_image(reference) or Image(node.version, node.schematic)
        record_installation(node, image, disk.path)
        return image

    async def _operate(self) -> None:
        """A configured node on its own disk: runs until power-off or a request ends it."""
        node, timing = self._node, self._node.settings.timing
        async with phase(node, "config"):
            self._adopt_config()
        async with phase(node, "services", timing.services):
            await self._open_api()
        background = [asyncio.create_task(node.registration.run(timing.of(timing.kubelet)))]
        try:
            assert node.config is not None
            if node.config.control_plane:
                background.append(asyncio.create_task(node.control_plane.promote_forever()))
                async with phase(node, "etcd"):
                    node.bootstrap_allowed = True
                    await node.control_plane.bring_up_etcd()
                async with phase(node, "kubernetes"):
                    await node.control_plane.serving.bring_up()
                background.append(asyncio.create_task(node.control_plane.supervise()))
            async with phase(node, "kubelet"):
                node.services.set("kubelet", "Running", healthy=True)
            node.journal.sequence("boot", start=False)
            await node.registration.follow_readiness()
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)

    def _adopt_config(self) -> None:
        node = self._node
        assert node.config is not None
        node.enter(Stage.BOOTING)
        node.store.save_config(node.config.raw)
        node.persisted = node.config_arrived.is_set()
        if not node.store.installation().version:
            disk = next((d.path for d in node.devices if not d.readonly), "")
            record_installation(node, Image(node.version, node.schematic, on_disk=True), disk)
        self._set_addresses()
        node.judge_network()
        if node.config.control_plane:
            node.fabric.add_control_plane(node)
        for name in services.CONTROL_PLANE if node.config.control_plane else ():
            node.services.set(name, "Waiting", "Waiting for service to be registered")

    async def _open_api(self) -> None:
        node = self._node
        assert node.config is not None
        others = [name for name in services.ALWAYS if name not in {"apid", "kubelet"}]
        node.services.run(*others)
        node.services.set("apid", "Waiting", "Waiting for api certificates")
        node.services.set("kubelet", "Preparing")
        await node.apid.open_secure()
        node.services.run("apid", *(["trustd"] if node.config.control_plane else []))
        node.announce()


def rolled_back(installed: Installation) -> Installation:
    """The two systems on the disk change places."""
    return dataclasses.replace(
        installed,
        version=installed.previous,
        schematic=installed.previous_schematic,
        previous=installed.version,
        previous_schematic=installed.schematic,
    )


def record_installation(node: Node, image: Image, disk: str = "") -> None:
    """The new content of the disk; the previous version stays recorded for a rollback."""
    old = node.store.installation()
    new = Installation(
        version=image.version,
        schematic=image.schematic,
        disk=disk or old.disk,
        previous=old.version,
        previous_schematic=old.schematic,
        trial=bool(old.version),
        meta=old.meta,
    )
    node.store.save(new)
