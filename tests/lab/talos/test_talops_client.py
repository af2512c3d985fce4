"""The client against the lab's nodes, which were written without it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.cluster_files import ClusterFiles

from talops.errors import ConflictError, UnreachableError
from talops.redaction import Secret
from talops.talos import kinds, quorum
from talops.talos.calls.logs import StageChanged
from talops.talos.calls.machine import ApplyMode
from talops.talos.calls.upgrade import Dialect, dialect_of
from talops.talos.client import Talos
from talops.talos.credentials import Credentials, Maintenance
from talops.talos.errors import (
    AlreadyDoneError,
    ForeignCertificateError,
    InvalidRequestError,
    MaintenanceModeError,
    NotAuthorizedError,
    UnsupportedError,
    WrongCaError,
)
from talops.talos.recovery import recover_etcd
from talops.talos.tracking import wait_for_boot, wait_until_running
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.talos.harness import Lab


def credentials(files: ClusterFiles, *roles: str) -> Credentials:
    pair = files.client(*roles)
    return Credentials(files.os_ca.crt.decode(), pair.crt.decode(), Secret(pair.key.decode()))


def client(lab: Lab, name: str, *roles: str) -> Talos:
    return Talos.connect(lab.address(name), credentials(lab.files, *roles))


async def answering(talos: Talos) -> None:
    async def probe() -> Ready[None] | NotYet:
        await talos.version()
        return Ready(None)

    await wait_for("answer", probe, timeout=60, interval=0.05)


async def test_maintenance(lab: Lab) -> None:
    """A new node shows its disks and links, and is not mistaken for another cluster's."""
    await lab.start("cp-1")
    async with Talos.connect(lab.address("cp-1"), Maintenance()) as talos:
        await answering(talos)
        assert "disk-1" in {disk.serial for disk in await talos.storage.disks()}
        links = await talos.resources.all(kinds.LINKS)
        assert "bc:24:11:00:00:01" in {link.hardware_address for link in links}
        status = await talos.resources.find(kinds.MACHINE_STATUS, kinds.MACHINE_ID)
        assert status is not None
        assert status.stage == "maintenance"
        with pytest.raises(NotAuthorizedError):
            await talos.machine.bootstrap()
        with pytest.raises(InvalidRequestError):
            await talos.machine.apply_configuration("version: v1alpha1\nnonsense: true\n")
    async with client(lab, "cp-1") as secure:
        with pytest.raises(MaintenanceModeError):
            await secure.version()


async def configured(lab: Lab, name: str) -> Talos:
    await lab.start(name)
    kind = "controlplane" if name.startswith("cp") else "worker"
    async with Talos.connect(lab.address(name), Maintenance()) as talos:
        await answering(talos)
        config = lab.files.config(kind, name)
        await talos.machine.apply_configuration(config, mode=ApplyMode.AUTO)
    secure = client(lab, name)
    await lab.up(name)
    await answering(secure)
    return secure


async def test_running_node(lab: Lab) -> None:
    """A configured node answers to its own cluster's certificate and to no other."""
    async with await configured(lab, "cp-1") as talos:
        assert (await talos.version()).release == (1, 13)
        assert await talos.services.hostname() == "cp-1"
        assert await talos.resources.find(kinds.HOSTNAME, kinds.HOSTNAME_ID) == "cp-1"
        assert "apid" in {service.id for service in await talos.services.list()}
        assert b"".join([piece async for piece in talos.logs.dmesg()])
        definition = await talos.resources.resolve("members")
        assert definition.type == kinds.MEMBERS.type
        config = await talos.resources.find(kinds.MACHINE_CONFIG, kinds.CONFIG_ID)
        assert config is not None
        assert "type: controlplane" in config
        again = await talos.machine.apply_configuration(lab.files.config("controlplane", "cp-1"))
        assert again.mode is ApplyMode.NO_REBOOT
    async with client(lab, "cp-1", "os:reader") as reader:
        with pytest.raises(NotAuthorizedError):
            await reader.machine.reboot()


async def test_strangers(lab: Lab) -> None:
    """Wrong CA and foreign certificate are distinguished by name."""
    async with await configured(lab, "cp-1"):
        pass
    ours, theirs = credentials(lab.files), credentials(ClusterFiles("https://other:6443"))
    address = lab.address("cp-1")
    async with Talos.connect(address, theirs) as talos:
        with pytest.raises(WrongCaError):
            await talos.version()
    mixed = Credentials(ours.ca, theirs.certificate, theirs.key)
    async with Talos.connect(address, mixed) as talos:
        with pytest.raises(ForeignCertificateError):
            await talos.version()


async def test_events_and_watch(lab: Lab) -> None:
    """A reboot is seen in the event stream and in a watch, and is over under a new boot id."""
    async with await configured(lab, "cp-1") as talos:
        before = await talos.files.boot_id()
        stages: list[str] = []

        async def listen() -> None:
            async with aclosing(talos.logs.events(tail=-1)) as events:
                async for change in (event.change async for event in events):
                    stages.extend([change.stage] if isinstance(change, StageChanged) else [])

        listening = asyncio.create_task(listen())
        kind = kinds.MACHINE_STATUS
        async with aclosing(talos.resources.watch(kind.namespace, kind.type)) as watch:
            first = await anext(watch)
            assert first.resource is not None
            assert first.resource.id == kinds.MACHINE_ID
        await talos.machine.reboot()
        with pytest.raises(UnreachableError):
            await listening
        assert "rebooting" in stages

        async def changed() -> Ready[None] | NotYet:
            return NotYet("same") if await talos.files.boot_id() == before else Ready(None)

        await wait_for("new boot id", changed, timeout=60, interval=0.05)


@pytest.mark.sampled("nodes of the lab")
@pytest.mark.slow
async def test_whole_cluster(lean_lab: Lab, tmp_path: Path) -> None:
    """From maintenance to etcd, kubeconfig, snapshot and an upgrade, with this client alone."""
    lab, names = lean_lab, ("cp-1", "cp-2", "cp-3")
    planes = [await configured(lab, name) for name in names]
    first = planes[0]

    async def bootstrap() -> Ready[None] | NotYet:
        await first.machine.bootstrap()
        return Ready(None)

    await wait_for("bootstrap", bootstrap, timeout=60, interval=0.1)
    for talos in planes:
        await wait_until_running(talos, timeout=120)
    with pytest.raises(AlreadyDoneError, match="not empty"):
        await first.machine.bootstrap()
    assert {m.hostname for m in await first.etcd.members()} == set(names)
    assert len(await first.resources.all(kinds.MEMBERS)) == 3
    await quorum.require(planes)
    assert "server: " in (await first.machine.kubeconfig()).reveal()
    proxied = first.node(lab.address("cp-3"))
    assert await proxied.services.hostname() == "cp-3"
    saved = await first.etcd.snapshot(tmp_path / "etcd.snapshot")
    assert saved.size > 4096
    assert await first.etcd.alarms() == []
    health = [line async for line in first.cluster.health()]
    assert health[-1] == "waiting for all k8s nodes to report schedulable: OK"
    for step in ("control plane static pods to be running", "control plane components to be ready"):
        assert f"waiting for all {step}: OK" in health
    made = await first.machine.client_configuration(("os:reader",))
    reader = Credentials(made.ca, made.certificate, made.key)
    assert reader.roles == ("os:reader",)

    last = planes[-1]
    before = await last.files.boot_id()
    image = await last.upgrade.pull("factory.talos.dev/nocloud-installer/x:v1.13.10")
    assert [line async for line in last.upgrade.install(image)]
    await last.machine.reboot()
    await wait_for_boot(last, before, timeout=120)
    assert (await last.version()).tag == "v1.13.10"
    await quorum.require(planes)
    for talos in planes:
        talos.close()


@pytest.mark.sampled("nodes of the lab")
@pytest.mark.slow
async def test_older_node(real_lab: Lab) -> None:
    """Before 1.13 maintenance knows no version, and an upgrade is one call."""
    lab = real_lab
    await lab.start("cp-1", version="v1.12.4")
    async with Talos.connect(lab.address("cp-1"), Maintenance()) as talos:

        async def disks() -> Ready[int] | NotYet:
            return Ready(len(await talos.storage.disks()))

        await wait_for("maintenance", disks, timeout=60, interval=0.05)
        with pytest.raises(UnsupportedError):
            await talos.version()
        install = {"disk": "/dev/sda", "image": "ghcr.io/siderolabs/installer:v1.12.4"}
        config = lab.files.config("controlplane", "cp-1", install=install)
        await talos.machine.apply_configuration(config)
    async with client(lab, "cp-1") as talos:
        await answering(talos)
        assert dialect_of((await talos.version()).release) is Dialect.LEGACY
        await lab.bootstrap("cp-1")
        await wait_until_running(talos, timeout=120)
        before = await talos.files.boot_id()
        await talos.upgrade.legacy("factory.talos.dev/nocloud-installer/x:v1.12.6")
        await wait_for_boot(talos, before, timeout=120)
        assert (await talos.version()).tag == "v1.12.6"


@pytest.mark.sampled("nodes of the lab")
@pytest.mark.slow
async def test_etcd_from_a_snapshot(real_lab: Lab, tmp_path: Path) -> None:
    """A control plane that lost its data gets it back from a file: snapshot, wipe, recover."""
    lab = real_lab
    await lab.cluster("cp-1")
    async with client(lab, "cp-1") as talos:
        saved = await talos.etcd.snapshot(tmp_path / "etcd.snapshot")
        with pytest.raises(ConflictError, match="still has etcd data"):
            await recover_etcd(talos, [talos], saved.path, timeout=60)
        before = await talos.files.boot_id()
        await talos.machine.reset(graceful=False, reboot=True, labels=("EPHEMERAL",))

        async def rebooted() -> Ready[None] | NotYet:
            return NotYet("same boot") if await talos.files.boot_id() == before else Ready(None)

        await wait_for("reboot", rebooted, timeout=60, interval=0.05)

        await recover_etcd(talos, [talos], saved.path, timeout=60)
        await wait_until_running(talos, timeout=120)
        assert [member.hostname for member in await talos.etcd.members()] == ["cp-1"]
