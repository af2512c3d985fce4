"""How upgrades go wrong: refusals, exit codes, images, and systems that do not boot.

Texts and codes as in Talos' internal/app/lifecycle (lifecycle.go, container.go) and
internal/app/images, and the exit codes of the installer since 1.14 (pkg/machinery/constants).
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.lab.talos.harness import Lab, until

from talops.lab.talos.machine.faults import Faults
from talops.lab.talos.machine.settings import Timing
from talops.talos.wire import cosi_pb2, image_pb2, lifecycle_pb2
from talops.talos.wire.cosi_grpc import StateStub
from talops.talos.wire.image_grpc import ImageServiceStub
from talops.talos.wire.lifecycle_grpc import LifecycleServiceStub
from talops.talos.wire.machine_pb2 import (
    ApplyConfigurationRequest,
    RebootRequest,
    RollbackRequest,
    UpgradeRequest,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OLD, NEW = "a" * 64, "b" * 64
EXTENSIONS: dict[str, Any] = {
    "namespace": "runtime",
    "type": "ExtensionStatuses.runtime.talos.dev",
}


def installer(version: str, schematic: str = NEW) -> str:
    return f"factory.talos.dev/nocloud-installer/{schematic}:{version}"


async def _never_founded(name: str) -> Path:
    """Control planes that wait for a bootstrap look it up."""
    return Path("/nonexistent") / name


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    """Three machines without Kubernetes, each with another generation of Talos."""
    made = Lab(tmp_path, _never_founded, timing=Timing(scale=0.01))
    try:
        for name, version in (("cp-1", "v1.13.9"), ("cp-2", "v1.14.0"), ("cp-3", "v1.12.5")):
            await made.start(name, version=version)
            image = f"ghcr.io/siderolabs/installer:{version}"
            await made.configure(name, install={"disk": "/dev/sda", "image": image})
        await made.up(*made.machines)
        yield made
    finally:
        await made.close()


async def pull(lab: Lab, name: str, image: str) -> str:
    request = image_pb2.ImageServicePullRequest(image_ref=image)
    replies = await ImageServiceStub(lab.channel(name)).Pull(request)
    return str(replies[-1].name)


async def upgrade(lab: Lab, name: str, image: str) -> int:
    """The exit code of the installer."""
    source = lifecycle_pb2.InstallArtifactsSource(image_name=image)
    request = lifecycle_pb2.LifecycleServiceUpgradeRequest(source=source)
    replies = await LifecycleServiceStub(lab.channel(name)).Upgrade(request)
    assert replies[-1].progress.HasField("exit_code")
    return int(replies[-1].progress.exit_code)


async def rebooted(lab: Lab, name: str, boot: str) -> str:
    """The version after the next boot."""

    async def again() -> bool:
        return lab.node(name).boot_id != boot

    await until(again)
    await lab.up(name)
    reply = await until(partial(lab.api(name).Version, Empty()))
    return str(reply.messages[0].version.tag)


async def reboot(lab: Lab, name: str) -> str:
    boot = lab.node(name).boot_id
    await lab.api(name).Reboot(RebootRequest())
    return await rebooted(lab, name, boot)


async def schematic_of(lab: Lab, name: str) -> str:
    listing = await StateStub(lab.channel(name)).List(cosi_pb2.ListRequest(**EXTENSIONS))
    (found,) = (reply.resource.spec.yaml_spec for reply in listing)
    assert "name: schematic" in found
    return next(line.split()[-1] for line in found.splitlines() if "version:" in line)


async def test_upgrades_go_wrong(lab: Lab) -> None:
    """One lab through every way; none of them changes the system that runs."""
    await _refusals(lab)
    await _images(lab)
    await _exit_codes(lab)
    await _a_system_that_does_not_boot(lab)
    await _the_old_call_fails(lab)
    await _a_boot_that_does_not_end(lab)
    await _a_trial_that_cuts_the_network(lab)


async def _refusals(lab: Lab) -> None:
    with pytest.raises(GRPCError) as refused:
        await upgrade(lab, "cp-1", "")
    assert refused.value.status is Status.INVALID_ARGUMENT
    assert refused.value.message == "installer image name is required"
    with pytest.raises(GRPCError) as refused:
        await upgrade(lab, "cp-1", installer("v1.13.10"))
    assert refused.value.status is Status.INTERNAL
    assert "not found in containerd store" in str(refused.value.message)
    with pytest.raises(GRPCError) as refused:
        await upgrade(lab, "cp-3", installer("v1.12.6"))
    assert refused.value.status is Status.UNIMPLEMENTED
    image = await pull(lab, "cp-1", installer("v1.13.10"))
    first = asyncio.create_task(upgrade(lab, "cp-1", image))

    async def begun() -> bool:
        return lab.node("cp-1").installing

    await until(begun)
    with pytest.raises(GRPCError) as refused:
        await upgrade(lab, "cp-1", image)
    assert refused.value.status is Status.FAILED_PRECONDITION
    assert refused.value.message == "another installation/upgrade is already in progress"
    assert await first == 0
    boot = lab.node("cp-1").boot_id
    await lab.api("cp-1").Rollback(RollbackRequest())  # before the new system has booted
    assert await rebooted(lab, "cp-1", boot) == "v1.13.9"


async def _images(lab: Lab) -> None:
    """One node cannot pull what all others can."""
    lab.host.faults.set("cp-1", Faults(image_missing=r"v1\.13\.11$"))
    with pytest.raises(GRPCError) as refused:
        await pull(lab, "cp-1", installer("v1.13.11"))
    assert refused.value.status is Status.NOT_FOUND
    assert await pull(lab, "cp-1", installer("v1.13.10"))
    assert await pull(lab, "cp-2", installer("v1.13.11"))
    lab.host.faults.clear("cp-1")


async def _exit_codes(lab: Lab) -> None:
    """Since 1.14 they have meanings; before, every failure is 1."""
    for name, image, wanted in (
        ("cp-1", installer("v1.13.10"), 1),
        ("cp-2", installer("v1.13.11"), 7),
    ):
        lab.host.faults.set(name, Faults(install_exit=7))
        assert await upgrade(lab, name, image) == wanted
        lab.host.faults.clear(name)
    assert await reboot(lab, "cp-2") == "v1.14.0"


async def _a_system_that_does_not_boot(lab: Lab) -> None:
    """The installer succeeds, and the old system runs after the reboot; then it works."""
    before = await schematic_of(lab, "cp-2")
    image = await pull(lab, "cp-2", installer("v1.14.1"))
    lab.host.faults.set("cp-2", Faults(boot_fails=True))
    assert await upgrade(lab, "cp-2", image) == 0
    assert await reboot(lab, "cp-2") == "v1.14.0"
    assert await schematic_of(lab, "cp-2") == before
    lab.host.faults.clear("cp-2")
    assert await upgrade(lab, "cp-2", image) == 0
    assert await reboot(lab, "cp-2") == "v1.14.1"
    assert await schematic_of(lab, "cp-2") == NEW
    boot = lab.node("cp-2").boot_id
    await lab.api("cp-2").Rollback(RollbackRequest())
    assert await rebooted(lab, "cp-2", boot) == "v1.14.0"
    assert await schematic_of(lab, "cp-2") == before


async def _the_old_call_fails(lab: Lab) -> None:
    """It says yes, fails in its sequence, and boots what was there."""
    lab.host.faults.set("cp-3", Faults(install_exit=1))
    boot = lab.node("cp-3").boot_id
    request = UpgradeRequest(image=installer("v1.12.6"), preserve=True)
    reply = await lab.api("cp-3").Upgrade(request)
    assert reply.messages[0].ack == "Upgrade request received"
    assert await rebooted(lab, "cp-3", boot) == "v1.12.5"
    lab.host.faults.clear("cp-3")


async def _a_boot_that_does_not_end(lab: Lab) -> None:
    lab.host.faults.set("cp-1", Faults(hangs=True))
    boot = lab.node("cp-1").boot_id
    await lab.api("cp-1").Reboot(RebootRequest())

    async def away() -> bool:
        return lab.node("cp-1").boot_id != boot

    await until(away)
    with pytest.raises(OSError, match="Connect call failed"):
        await lab.api("cp-1").Version(Empty())
    assert not lab.node("cp-1").addresses
    lab.host.faults.clear("cp-1")
    await lab.up("cp-1")


async def _a_trial_that_cuts_the_network(lab: Lab) -> None:
    """It really cuts it, and the node returns with the config that it had."""
    down = {"apiVersion": "v1alpha1", "kind": "LinkConfig", "name": "eth0", "up": False}
    before, boot = lab.node("cp-1").config, lab.node("cp-1").boot_id
    request = ApplyConfigurationRequest(
        data=lab.files.config("controlplane", "cp-1", down),
        mode=ApplyConfigurationRequest.TRY,
        try_mode_timeout=Duration(seconds=2),
    )
    await lab.api("cp-1").ApplyConfiguration(request)

    async def cut() -> bool:
        return not lab.node("cp-1").reachable

    await until(cut)
    await lab.listening("cp-1")  # as packets without an answer: connections hang
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(lab.api("cp-1").Version(Empty()), 0.3)

    async def back() -> bool:
        return lab.node("cp-1").reachable

    await until(back)
    await until(partial(lab.api("cp-1").Version, Empty()))
    assert before is not None
    assert lab.node("cp-1").config == before
    assert lab.node("cp-1").boot_id == boot
