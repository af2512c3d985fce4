"""What happens to a node over time: boot, maintenance, installation, reboot, reset, upgrade."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

from talops.lab.talos import services
from talops.lab.talos.config import link_addresses
from talops.lab.talos.decoding import BadConfigError, decode
from talops.lab.talos.disks import choose
from talops.lab.talos.failures import CrashedError, SequenceFailedError, Wish
from talops.lab.talos.image import Image, boot_image, installer_image
from talops.lab.talos.settings import dhcp_reservations
from talops.lab.talos.stages import Stage
from talops.lab.talos.store import Installation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from talops.lab.machine import MachinePower
    from talops.lab.talos.node import Node


# Watchers hear about the end before their connections go, however fast a lab runs.
_LAST_WORDS = 0.05


class Life:
    """Runs one node from power-on to power-off."""

    def __init__(self, node: Node, power: MachinePower | None) -> None:
        self._node = node
        self._power = power
        self._task: asyncio.Task[None] | None = None
        self._wish: asyncio.Future[Wish] | None = None

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"node {self._node.machine.name}")
        self._task.add_done_callback(_complain)

    def ask(self, wish: Wish) -> bool:
        """False if the node is already on its way somewhere."""
        if self._wish is None or self._wish.done():
            return False
        self._wish.set_result(wish)
        return True

    async def stop(self, *, graceful: bool) -> None:
        """Power is gone when this returns. `graceful` is the ACPI button: services end first."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if graceful:
            self._node.enter(Stage.SHUTTING_DOWN, ("sequence", "shutdown"))
        await self._halt(grace=5.0 if graceful else 0.0)

    async def _run(self) -> None:
        node = self._node
        while True:
            try:
                wish = await self._up()
                again = await self._fulfil(wish)
            except CrashedError as crash:
                node.journal.kmsg(f"kernel panic: {crash}")
                await self._halt(grace=0.0)
                await asyncio.sleep(self._timing(node.settings.timing.panic))
                continue
            except SequenceFailedError as failure:
                node.journal.kmsg(f"sequence failed, rebooting: {failure}")
                await asyncio.sleep(self._timing(node.settings.timing.panic))
                await self._halt(grace=5.0)
                continue
            if not again:
                break
        if self._power is not None:
            await self._power.guest_powered_off(node.machine.uuid)

    def _timing(self, seconds: float) -> float:
        return self._node.settings.timing.of(seconds)

    async def _up(self) -> Wish:
        """Boot, and stay up until somebody wishes otherwise."""
        wish: asyncio.Future[Wish] = asyncio.get_running_loop().create_future()
        self._wish = wish
        boot = asyncio.create_task(self._boot())
        both: set[asyncio.Future[Any]] = {boot, wish}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if boot.done():
                boot.result()
            return await wish
        finally:
            boot.cancel()
            await asyncio.gather(boot, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def _phase(self, name: str, seconds: float = 0.0) -> AsyncIterator[None]:
        node = self._node
        node.journal.phase(name, start=True)
        await asyncio.sleep(self._timing(seconds))
        if node.faults.crash_at == name:
            node.book.crashed(node.machine.name, node.machine.uuid)
            raise CrashedError(f"in phase {name}")
        yield
        node.journal.phase(name, start=False)

    async def _boot(self) -> None:
        node, timing = self._node, self._node.settings.timing
        node.reborn()
        node.enter(Stage.BOOTING, ("services", "booting"))
        await asyncio.sleep(self._timing(timing.firmware) + node.faults.slow_boot)
        image = self._image()
        if image is None:
            node.enter(Stage.UNKNOWN)
            node.journal.kmsg("no bootable device")
            return
        node.version, node.schematic = image.version, image.schematic
        node.journal.sequence("boot", start=True)
        async with self._phase("boot", timing.boot):
            node.services.run(*services.MAINTENANCE)
        async with self._phase("network"):
            self._load_persisted()
            self._set_addresses()
        if node.config is None:
            await self._maintenance()
        if not image.on_disk:
            await self._install()
            return
        await self._operate()

    def _image(self) -> Image | None:
        """What the firmware finds: an installation, an image on the disk, a CD."""
        node = self._node
        installed = node.store.installation()
        if installed.staged:
            staged = installer_image(installed.staged)
            if staged is not None:
                self._record(staged)
                installed = node.store.installation()
        if installed.version:
            return Image(installed.version, installed.schematic, on_disk=True)
        default = node.settings.default_version
        return boot_image(node.machine, default, blank=installed.blank)

    def _record(self, image: Image, disk: str = "") -> None:
        old = self._node.store.installation()
        new = Installation(
            version=image.version,
            schematic=image.schematic,
            disk=disk or old.disk,
            previous=old.version,
            meta=old.meta,
        )
        self._node.store.save(new)

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
        if node.machine.network is not None:
            found.append(node.machine.network.address.partition("/")[0])
        reservations = dhcp_reservations(node.settings)
        found += [reservations[mac] for mac in node.macs if mac in reservations]
        node.addresses = tuple(dict.fromkeys(a for a in found if a.startswith("127.")))
        for foreign in (a for a in found if not a.startswith("127.")):
            node.journal.kmsg(f"address {foreign} is not on the lab's network, left out")

    async def _maintenance(self) -> None:
        node = self._node
        async with self._phase("maintenance"):
            node.enter(Stage.MAINTENANCE)
            await node.apid.open_maintenance()
            node.journal.kmsg(f"this machine is reachable at: {', '.join(node.addresses)}")
            await node.config_arrived.wait()
            await node.apid.close()

    async def _install(self) -> None:
        node, timing = self._node, self._node.settings.timing
        assert node.config is not None
        node.journal.sequence("install", start=True)
        node.enter(Stage.INSTALLING, ("sequence", "install"))
        try:
            async with self._phase("install", timing.install):
                image = self._install_to_disk()
        except SequenceFailedError as error:
            node.journal.sequence("install", start=False, error=str(error))
            raise
        node.store.save_config(node.config.raw)
        node.journal.kmsg(f"install of {image.version} successful")
        node.journal.sequence("install", start=False)
        self.ask(Wish("reboot", force=True))

    def _install_to_disk(self) -> Image:
        node = self._node
        assert node.config is not None
        install = node.config.install
        disk = choose(install, node.devices)
        if disk is None:
            wanted = install.get("disk") or install.get("diskSelector")
            names = ", ".join(d.path for d in node.devices)
            raise SequenceFailedError(f"no disk matches {wanted}; this machine has {names}")
        if node.faults.disk_full:
            raise SequenceFailedError(f"failed to write {disk.path}: no space left on device")
        reference = str(install.get("image") or "")
        image = installer_image(reference) or Image(node.version, node.schematic)
        self._record(image, disk.path)
        return image

    async def _operate(self) -> None:
        """A configured node on its own disk: everything runs until power or a wish ends it."""
        node, timing = self._node, self._node.settings.timing
        async with self._phase("config"):
            self._adopt_config()
        async with self._phase("services", timing.services):
            await self._open_api()
        background = [asyncio.create_task(node.registration.run(timing.of(timing.kubelet)))]
        try:
            assert node.config is not None
            if node.config.control_plane:
                background.append(asyncio.create_task(node.control_plane.promote_forever()))
                async with self._phase("etcd"):
                    node.bootstrap_allowed = True
                    await node.control_plane.bring_up_etcd()
                async with self._phase("kubernetes"):
                    await node.control_plane.bring_up_api()
                background.append(asyncio.create_task(node.control_plane.supervise()))
            async with self._phase("kubelet"):
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
        node.enter(Stage.BOOTING, ("services", "booting"))
        node.store.save_config(node.config.raw)
        if not node.store.installation().version:
            disk = next((d.path for d in node.devices if not d.readonly), "")
            self._record(Image(node.version, node.schematic, on_disk=True), disk)
        self._set_addresses()
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

    async def _fulfil(self, wish: Wish) -> bool:
        """Whether the node boots again afterwards."""
        node = self._node
        stage = {
            "reboot": Stage.REBOOTING,
            "shutdown": Stage.SHUTTING_DOWN,
            "reset": Stage.RESETTING,
            "upgrade": Stage.UPGRADING,
        }[wish.kind]
        node.journal.sequence(wish.kind, start=True, actor=wish.actor)
        node.enter(stage, ("sequence", wish.kind))
        if wish.kind == "reset":
            await self._reset(wish)
        if wish.kind == "upgrade" and wish.image is not None:
            async with self._phase("upgrade", node.settings.timing.install):
                self._record(wish.image)
        grace = 0.0 if wish.force else 5.0
        async with self._phase("stop", node.settings.timing.stop):
            node.journal.sequence(wish.kind, start=False, actor=wish.actor)
            await asyncio.sleep(_LAST_WORDS)
            await self._halt(grace=grace)
        return wish.kind in {"reboot", "upgrade"} or (wish.kind == "reset" and wish.reboot)

    async def _reset(self, wish: Wish) -> None:
        node, store = self._node, self._node.store
        async with self._phase("reset"):
            if wish.graceful and node.config is not None and node.config.control_plane:
                await node.control_plane.leave()
            await node.control_plane.stop(grace=5.0)
            node.withdraw()
            if wish.partitions:
                if "STATE" in wish.partitions:
                    store.wipe_state()
                if "EPHEMERAL" in wish.partitions:
                    store.wipe_ephemeral()
            elif wish.system_disk:
                store.wipe_disk()

    async def _halt(self, *, grace: float) -> None:
        """Everything that runs on this machine ends."""
        node = self._node
        await node.apid.close()
        await node.control_plane.stop(grace=grace)
        node.registration.forget()
        node.addresses = ()


def _complain(task: asyncio.Task[None]) -> None:
    """A node that ends by a mistake in the lab must not look like one without power."""
    if not task.cancelled() and (error := task.exception()) is not None:
        task.get_loop().call_exception_handler(
            {"message": f"{task.get_name()} ended", "exception": error, "task": task}
        )


def stage_upgrade(node: Node, reference: str) -> None:
    """Remember an installer to run at the next boot."""
    node.store.save(dataclasses.replace(node.store.installation(), staged=reference))
