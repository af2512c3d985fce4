"""Nodes before Kubernetes: maintenance, apply, roles, forwarding."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.empty_pb2 import Empty
from grpclib.const import Status
from grpclib.exceptions import StreamTerminatedError
from tests.lab.talos.calls import configured, refusal
from tests.lab.talos.harness import until

from talops.lab.machine import Disk, Nic, StaticNetwork
from talops.lab.talos.machine.stages import Stage
from talops.talos.wire.machine_pb2 import (
    ApplyConfigurationRequest,
    BootstrapRequest,
    EtcdMemberListRequest,
    EventsRequest,
    GenerateClientConfigurationRequest,
    LogsRequest,
    ReadRequest,
    RebootRequest,
    SequenceEvent,
)
from talops.talos.wire.storage_grpc import StorageServiceStub

if TYPE_CHECKING:
    from tests.lab.talos.harness import Lab


async def test_maintenance_knows_the_machine(lab: Lab) -> None:
    """Disks answer without a certificate; a bootstrap is denied."""
    await lab.start("w-1")
    await lab.stage("w-1", Stage.MAINTENANCE)
    disks = StorageServiceStub(lab.channel("w-1", maintenance=True))
    reply = await until(lambda: disks.Disks(Empty()))
    assert [(d.device_name, d.serial) for d in reply.messages[0].disks][:1] == [
        ("/dev/sda", "disk-1")
    ]
    maintenance = lab.maintenance("w-1")
    assert (await maintenance.Version(Empty())).messages[0].version.tag == "v1.13.9"
    assert await refusal(maintenance.Bootstrap(BootstrapRequest())) == (
        Status.PERMISSION_DENIED,
        "not authorized",
    )


async def test_old_maintenance_has_few_calls(lab: Lab) -> None:
    """Before 1.13 Version and Bootstrap are not implemented there."""
    await lab.start("w-1", version="v1.12.4")
    await lab.listening("w-1")
    maintenance = lab.maintenance("w-1")
    status, _ = await refusal(maintenance.Version(Empty()))
    assert status is Status.UNIMPLEMENTED
    status, _ = await refusal(maintenance.Bootstrap(BootstrapRequest()))
    assert status is Status.UNIMPLEMENTED


async def test_bad_config_is_refused_in_maintenance(lab: Lab) -> None:
    """The text comes back as InvalidArgument and the node stays where it is."""
    await lab.start("w-1")
    await lab.listening("w-1")
    bad = lab.files.config("worker", "w-1", bogusField=1)
    request = ApplyConfigurationRequest(data=bad)
    status, text = await refusal(lab.maintenance("w-1").ApplyConfiguration(request))
    assert status is Status.INVALID_ARGUMENT
    assert "bogusField: 1" in text
    assert lab.node("w-1").status.stage is Stage.MAINTENANCE


async def test_a_part_of_a_config_is_taken_in_maintenance(lab: Lab) -> None:
    """A real node takes documents without the main one there, as a trial and in earnest."""
    await lab.start("cp-1")
    await lab.listening("cp-1")
    part = b"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: early\nauto: off\n"
    for dry in (True, False):
        request = ApplyConfigurationRequest(data=part, dry_run=dry)
        reply = await lab.maintenance("cp-1").ApplyConfiguration(request)
        assert reply.messages[0].mode == ApplyConfigurationRequest.NO_REBOOT
    assert lab.node("cp-1").status.stage is Stage.MAINTENANCE
    assert lab.node("cp-1").hostname == "early"
    await lab.configure("cp-1")
    await lab.up("cp-1")
    assert lab.node("cp-1").hostname == "cp-1"


async def test_members_are_waited_for(lab: Lab) -> None:
    """A control plane that has not joined etcd answers only with the caller's deadline."""
    await configured(lab)
    with pytest.raises(TimeoutError):
        await lab.api("cp-1").EtcdMemberList(EtcdMemberListRequest(), timeout=0.5)


async def test_install_survives_a_power_cut(lab: Lab) -> None:
    """An installed node boots from its disk with its config, also in a new process."""
    await configured(lab)
    boot = lab.node("cp-1").boot_id
    await lab.host.power_off(lab.machines["cp-1"].uuid, graceful=False)
    assert lab.host.node("cp-1") is None
    await lab.host.power_on(lab.machines["cp-1"])
    await lab.up("cp-1")
    assert lab.node("cp-1").boot_id != boot


async def test_destroyed_machine_forgets(lab: Lab) -> None:
    """A VM of the same identity made again starts in maintenance mode."""
    await configured(lab)
    await lab.host.destroy(lab.machines["cp-1"].uuid)
    await lab.host.power_on(lab.machines["cp-1"])
    await lab.stage("cp-1", Stage.MAINTENANCE)


async def test_disk_image_needs_no_installation(lab: Lab) -> None:
    """A node cloned from a disk image goes from maintenance to its config without a reboot."""
    image = lab.directory / "nocloud-v1.13.2.raw"
    image.touch()
    disks = (Disk("scsi0", 20 * 2**30, image=image),)
    await lab.start("cp-1", disks=disks, cdrom=None)
    await lab.stage("cp-1", Stage.MAINTENANCE)
    boot = lab.node("cp-1").boot_id
    await lab.configure("cp-1")
    await lab.up("cp-1")
    reply = await lab.api("cp-1").Version(Empty())
    assert reply.messages[0].version.tag == "v1.13.2"
    assert lab.node("cp-1").boot_id == boot


async def test_nothing_to_boot_from(lab: Lab) -> None:
    """A machine without an OS never answers."""
    await lab.start("w-1", cdrom=None)

    async def message() -> list[str]:
        return [line for line in lab.node("w-1").journal.kernel.items() if "bootable" in line]

    assert "no bootable device" in (await until(message))[0]
    assert lab.node("w-1").status.stage is Stage.UNKNOWN


async def test_address_by_dhcp_reservation(lab: Lab) -> None:
    """Without a cloud-init drive the lab's DHCP knows the machine by its MAC."""
    (lab.settings.directory / "dhcp.json").write_text(f'{{"BC:24:11:00:00:01": "{lab.network}.1"}}')
    await lab.start("w-1", network=None)
    await until(lambda: lab.maintenance("w-1").Version(Empty()))


@pytest.mark.parametrize(
    ("role", "reads", "reboots", "generates"),
    [
        ("os:reader", True, False, False),
        ("os:operator", True, True, False),
        ("os:admin", True, True, True),
        ("os:nobody", False, False, False),
    ],
)
async def test_roles(lab: Lab, role: str, reads: bool, reboots: bool, generates: bool) -> None:
    """What a certificate's organization says is what it may do."""
    await configured(lab)
    api, ttl = lab.api("cp-1", role), Duration(seconds=60)
    calls = {
        "reads": (api.Version(Empty()), reads),
        "generates": (
            api.GenerateClientConfiguration(
                GenerateClientConfigurationRequest(roles=["os:reader"], crt_ttl=ttl)
            ),
            generates,
        ),
        "reboots": (api.Reboot(RebootRequest()), reboots),
    }
    for call, permitted in calls.values():
        if permitted:
            await call
        else:
            assert await refusal(call) == (Status.PERMISSION_DENIED, "not authorized")


async def test_foreign_and_server_certificates(lab: Lab) -> None:
    """A certificate of another CA ends the connection; one that may also serve has no role."""
    await configured(lab)
    own = lab.files.client
    lab.files.client = lambda *roles: own(*roles, server=True)  # type: ignore[method-assign]
    status, _ = await refusal(lab.api("cp-1", "os:admin", "os:both").Version(Empty()))
    assert status is Status.PERMISSION_DENIED
    other = type(lab.files)(lab.files.endpoint)
    lab.files.client = other.client  # type: ignore[method-assign]
    with pytest.raises((StreamTerminatedError, OSError)):
        await lab.api("cp-1", "os:admin", "os:foreign").Version(Empty())


async def test_forwarding_and_fan_out(lab: Lab) -> None:
    """One endpoint answers for other nodes; a node that is down is an error inside an answer."""
    await lab.start("cp-1", "cp-2", "w-1")
    for name in lab.machines:
        await lab.configure(name)
    await lab.up(*lab.machines)
    api, missing = lab.api("cp-1"), f"{lab.network}.99"
    one = await api.Hostname(Empty(), metadata={"node": lab.address("w-1")})
    assert [(m.hostname, m.metadata.hostname) for m in one.messages] == [("w-1", "")]
    nodes = [("nodes", lab.address("cp-2")), ("nodes", lab.address("w-1")), ("nodes", missing)]
    many = await api.Hostname(Empty(), metadata=nodes)
    assert [m.hostname for m in many.messages] == ["cp-2", "w-1", ""]
    assert many.messages[2].metadata.hostname == missing
    assert many.messages[2].metadata.status.code == Status.UNAVAILABLE.value
    status, _ = await refusal(api.Hostname(Empty(), metadata={"node": missing}))
    assert status is Status.UNAVAILABLE
    call = lab.api("w-1").Hostname(Empty(), metadata={"node": lab.address("cp-1")})
    assert await refusal(call) == (Status.PERMISSION_DENIED, "no request forwarding")


async def test_bootstrap_checks(lab: Lab) -> None:
    """A cluster cannot be bootstrapped on a worker."""
    await lab.start("cp-1", "w-1")
    for name in lab.machines:
        await lab.configure(name)
    await lab.up("w-1")

    async def answer() -> tuple[Status, str] | None:
        found = await refusal(lab.api("w-1").Bootstrap(BootstrapRequest()))
        return found if found[1] != "bootstrap is not available yet" else None

    lab.node("w-1").bootstrap_allowed = True
    assert await answer() == (
        Status.UNIMPLEMENTED,
        "bootstrap is only available on control plane nodes",
    )
    lab.host.faults.set("cp-1", type(lab.node("cp-1").faults)(refuse_bootstrap=True))
    assert await refusal(lab.api("cp-1").Bootstrap(BootstrapRequest())) == (
        Status.FAILED_PRECONDITION,
        "bootstrap is not available yet",
    )


async def test_events_logs_and_files(lab: Lab) -> None:
    """A follower first gets a hello, then what was and what comes."""
    await configured(lab)
    api = lab.api("cp-1")
    async with api.Events.open() as stream:
        await stream.send_message(EventsRequest(tail_events=-1), end=True)
        hello = await stream.recv_message()
        assert hello is not None
        assert not hello.id
        seen = []
        while True:
            event = await stream.recv_message()
            assert event is not None
            if event.data.type_url.endswith("machine.SequenceEvent"):
                seen.append(SequenceEvent.FromString(event.data.value).sequence)
                break
        await stream.cancel()
    assert seen == ["boot"]
    async with api.Logs.open() as logs:
        await logs.send_message(LogsRequest(namespace="system", id="machined"), end=True)
        text = b"".join([part.bytes async for part in logs])
    assert b"service[apid](Running)" in text or not text
    async with api.Read.open() as read:
        path = "/proc/sys/kernel/random/boot_id"
        await read.send_message(ReadRequest(path=path), end=True)
        content = b"".join([part.bytes async for part in read])
    assert content.decode().strip() == lab.node("cp-1").boot_id


async def test_many_workers_are_light(lab: Lab) -> None:
    """A hundred nodes reach maintenance together in one process."""
    for number in range(100):
        await lab.host.power_on(
            lab.machine(
                f"w-{number}",
                nics=(Nic(f"bc:24:11:00:01:{number:02x}", "vmbr0"),),
                network=StaticNetwork(f"{lab.network}.{number + 1}/24"),
            )
        )
    await asyncio.gather(*(lab.stage(name, Stage.MAINTENANCE) for name in lab.machines))
    replies = await asyncio.gather(
        *(until(partial(lab.maintenance(name).Version, Empty())) for name in lab.machines)
    )
    assert len(replies) == 100
