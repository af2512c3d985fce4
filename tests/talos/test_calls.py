"""Each call sends what Talos expects and gives a plain value back."""

from __future__ import annotations

import asyncio
import gzip
import io
import tarfile
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.empty_pb2 import Empty
from google.protobuf.timestamp_pb2 import Timestamp
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from tests.talos.conftest import data, meta

from talops.errors import TalopsError
from talops.talos.calls import logs
from talops.talos.calls.machine import ApplyMode, RebootMode, WipeMode
from talops.talos.client import Talos, each
from talops.talos.errors import AlreadyDoneError, CallFailedError
from talops.talos.wire import (
    cluster_pb2,
    common_pb2,
    storage_pb2,
    time_pb2,
)
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from tests.talos.conftest import FakeNode

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def stamp(moment: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(moment)
    return message


async def test_apply_configuration(talos: Talos, node: FakeNode) -> None:
    """Config, mode and trial time travel; what the node chose comes back."""
    message = pb.ApplyConfiguration(
        metadata=meta(),
        warnings=["old field"],
        mode="NO_REBOOT",
        mode_details="Applied without a reboot",
    )
    node.on("ApplyConfiguration", pb.ApplyConfigurationResponse(messages=[message]))
    applied = await talos.machine.apply_configuration(
        "version: v1alpha1\n", mode=ApplyMode.TRY, try_timeout=timedelta(seconds=90)
    )
    assert (applied.mode, applied.details) == (ApplyMode.NO_REBOOT, "Applied without a reboot")
    assert applied.warnings == ("old field",)
    (request,) = node.requests("ApplyConfiguration")
    assert request.data == b"version: v1alpha1\n"
    assert request.mode == pb.ApplyConfigurationRequest.TRY
    assert request.try_mode_timeout.ToTimedelta() == timedelta(seconds=90)


async def test_bootstrap_twice(talos: Talos, node: FakeNode) -> None:
    """A bootstrapped node says so, and that is an error of its own."""
    node.on("Bootstrap", GRPCError(Status.ALREADY_EXISTS, "etcd data directory is not empty"))
    with pytest.raises(AlreadyDoneError, match="not empty"):
        await talos.machine.bootstrap(recover_etcd=True)
    (request,) = node.requests("Bootstrap")
    assert request.recover_etcd


def unterminated_tar(name: str, content: bytes) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    whole = 512 + -(-len(content) // 512) * 512
    return gzip.compress(plain.getvalue()[:whole])


async def test_kubeconfig(talos: Talos, node: FakeNode) -> None:
    """The file comes out of an archive that has no end, in pieces."""
    packed = unterminated_tar("kubeconfig", b"apiVersion: v1\nkind: Config\n")
    node.on("Kubeconfig", data(packed[:40], packed[40:]))
    kubeconfig = await talos.machine.kubeconfig()
    assert kubeconfig.reveal() == "apiVersion: v1\nkind: Config\n"
    assert "apiVersion" not in repr(kubeconfig)


async def test_kubeconfig_damaged(talos: Talos, node: FakeNode) -> None:
    """A broken archive is the node's failure, not a traceback."""
    node.on("Kubeconfig", data(b"no archive"))
    with pytest.raises(CallFailedError, match="cannot be read"):
        await talos.machine.kubeconfig()


async def test_power(talos: Talos, node: FakeNode) -> None:
    """Reboot, shutdown and reset name the action by which events can be followed."""
    node.on("Reboot", pb.RebootResponse(messages=[pb.Reboot(actor_id="a")]))
    node.on("Shutdown", pb.ShutdownResponse(messages=[pb.Shutdown(actor_id="b")]))
    node.on("Reset", pb.ResetResponse(messages=[pb.Reset(actor_id="c")]))
    assert await talos.machine.reboot(RebootMode.POWERCYCLE) == "a"
    assert await talos.machine.shutdown(force=True) == "b"
    actor = await talos.machine.reset(
        graceful=False, reboot=True, mode=WipeMode.SYSTEM_DISK, labels=("STATE",), disks=("sdb",)
    )
    assert actor == "c"
    (request,) = node.requests("Reset")
    assert (request.graceful, request.reboot, request.mode) == (False, True, 1)
    assert [(p.label, p.wipe) for p in request.system_partitions_to_wipe] == [("STATE", True)]
    assert list(request.user_disks_to_wipe) == ["sdb"]
    assert node.requests("Reboot")[0].mode == pb.RebootRequest.POWERCYCLE


async def test_client_configuration(talos: Talos, node: FakeNode) -> None:
    """A new certificate is asked for with roles and lifetime, and its key stays hidden."""
    made = pb.GenerateClientConfiguration(ca=b"CA", crt=b"C", key=b"KEYKEY", talosconfig=b"T")
    node.on("GenerateClientConfiguration", pb.GenerateClientConfigurationResponse(messages=[made]))
    got = await talos.machine.client_configuration(("os:reader",), ttl=timedelta(hours=1))
    assert (got.ca, got.certificate, got.key.reveal()) == ("CA", "C", "KEYKEY")
    assert "KEYKEY" not in repr(got)
    (request,) = node.requests("GenerateClientConfiguration")
    assert list(request.roles) == ["os:reader"]
    assert request.crt_ttl.ToTimedelta() == timedelta(hours=1)


async def test_services(talos: Talos, node: FakeNode) -> None:
    """Health is yes, no, or unknown where nothing checks it."""
    infos = [
        pb.ServiceInfo(
            id="etcd",
            state="Running",
            health=pb.ServiceHealth(healthy=True, last_change=stamp(NOON)),
            events=pb.ServiceEvents(
                events=[pb.ServiceEvent(msg="Started", state="Running", ts=stamp(NOON))]
            ),
        ),
        pb.ServiceInfo(id="kubelet", state="Waiting", health=pb.ServiceHealth(last_message="no")),
        pb.ServiceInfo(
            id="udevd",
            state="Running",
            health=pb.ServiceHealth(unknown=True, last_change=stamp(datetime(1, 1, 1, tzinfo=UTC))),
        ),
    ]
    node.on("ServiceList", pb.ServiceListResponse(messages=[pb.ServiceList(services=infos)]))
    etcd, kubelet, udevd = await talos.services.list()
    assert (etcd.healthy, kubelet.healthy, udevd.healthy) == (True, False, None)
    assert (etcd.changed, etcd.events[0].message) == (NOON, "Started")
    assert (kubelet.message, kubelet.changed, udevd.changed) == ("no", None, None)


async def test_logs(talos: Talos, node: FakeNode) -> None:
    """Pieces arrive in order; a failure inside the stream is raised."""
    node.on("Logs", data(b"one\n", b"", b"two\n"))
    assert [p async for p in talos.logs.logs("etcd", tail=5)] == [b"one\n", b"two\n"]
    request = node.requests("Logs")[0]
    assert (request.namespace, request.id, request.tail_lines) == ("system", "etcd", 5)
    failed = common_pb2.Data(metadata=common_pb2.Metadata(hostname="cp2", error="log not found"))
    node.on("Logs", [*data(b"x"), failed])
    with pytest.raises(CallFailedError, match="log not found"):
        [p async for p in talos.logs.logs("nope", kubernetes=True)]
    assert node.requests("Logs")[1].driver == common_pb2.CRI


async def test_follow_can_be_left(talos: Talos, node: FakeNode) -> None:
    """Leaving an endless stream ends it and keeps the connection usable."""

    async def endless(_: Any, stream: Any) -> None:
        while True:
            await stream.send_message(common_pb2.Data(bytes=b"tick\n"))
            await asyncio.sleep(0.01)

    node.on("Dmesg", endless)
    async with aclosing(talos.logs.dmesg(follow=True)) as lines:
        assert await anext(lines) == b"tick\n"
    node.on("Hostname", pb.HostnameResponse(messages=[pb.Hostname(hostname="cp1")]))
    assert await talos.services.hostname() == "cp1"


def event(payload: Any, **fields: Any) -> pb.Event:
    url = f"talos/runtime/{payload.DESCRIPTOR.full_name}"
    packed = AnyMessage(type_url=url, value=payload.SerializeToString())
    return pb.Event(metadata=meta(), data=packed, **fields)


async def test_events(talos: Talos, node: FakeNode) -> None:
    """Events are typed, the empty hello is left out, unknown ones keep their name."""
    unmet = pb.MachineStatusEvent.MachineStatus.UnmetCondition(name="services", reason="etcd")
    status = pb.MachineStatusEvent.MachineStatus(ready=False, unmet_conditions=[unmet])
    node.on(
        "Events",
        [
            pb.Event(),
            event(pb.SequenceEvent(sequence="boot", action="START"), id="1", actor_id="x"),
            event(pb.PhaseEvent(phase="install", action="STOP")),
            event(pb.TaskEvent(task="wipe")),
            event(pb.ServiceStateEvent(service="etcd", action="RUNNING", message="up")),
            event(pb.MachineStatusEvent(stage="SHUTTING_DOWN", status=status)),
            event(pb.AddressEvent(hostname="cp1", addresses=["10.0.0.1"])),
            event(pb.ConfigValidationErrorEvent(error="bad")),
            event(pb.RestartEvent(cmd=1)),
        ],
    )
    got = [e async for e in talos.logs.events(tail=-1, actor="x")]
    assert [e.change for e in got] == [
        logs.SequenceChanged("boot", "start", ""),
        logs.PhaseChanged("install", "stop"),
        logs.TaskChanged("wipe", "start"),
        logs.ServiceChanged("etcd", "running", "up"),
        logs.StageChanged("shutting down", ready=False, unmet=(("services", "etcd"),)),
        logs.AddressesChanged("cp1", ("10.0.0.1",)),
        logs.ConfigRefused("bad"),
        logs.OtherChange("machine.RestartEvent"),
    ]
    assert (got[0].id, got[0].actor, got[0].node) == ("1", "x", "cp1")
    assert node.requests("Events")[0].with_actor_id == "x"


async def test_disks(talos: Talos, node: FakeNode) -> None:
    """Disks come with what an installer chooses by."""
    disk = storage_pb2.Disk(
        device_name="/dev/sda", size=10, serial="S1", type="SSD", system_disk=True
    )
    node.on("Disks", storage_pb2.DisksResponse(messages=[storage_pb2.Disks(disks=[disk])]))
    (got,) = await talos.storage.disks()
    assert (got.device, got.serial, got.type, got.system) == ("/dev/sda", "S1", "ssd", True)
    wiped = storage_pb2.BlockDeviceWipeResponse(messages=[storage_pb2.BlockDeviceWipe()])
    node.on("BlockDeviceWipe", wiped)
    await talos.storage.wipe("sdb", zeroes=True)
    (device,) = node.requests("BlockDeviceWipe")[0].devices
    assert (device.device, device.method) == ("sdb", 1)


async def test_files(talos: Talos, node: FakeNode) -> None:
    """A file is read whole; listings tell files from errors."""
    node.on("Read", data(b"1234-", b"5678\n"))
    assert await talos.files.boot_id() == "1234-5678"
    infos = [
        pb.FileInfo(name="/etc/a", relative_name="a", size=3, modified=int(NOON.timestamp())),
        pb.FileInfo(name="/etc/b", error="permission denied"),
    ]
    node.on("List", infos)
    a, b = [f async for f in talos.files.list("/etc", depth=2)]
    assert (a.name, a.size, a.modified) == ("a", 3, NOON)
    assert b.error == "permission denied"
    assert node.requests("List")[0].recurse


async def test_health(talos: Talos, node: FakeNode) -> None:
    """Progress comes line by line, and the names given are the ones checked."""
    lines = ["waiting for etcd to be healthy: OK", "all done"]
    node.on("HealthCheck", [cluster_pb2.HealthCheckProgress(message=m) for m in lines])
    assert [m async for m in talos.cluster.health(("10.0.0.1",), ("10.0.0.2",))] == lines
    (request,) = node.requests("HealthCheck")
    assert list(request.cluster_info.worker_nodes) == ["10.0.0.2"]
    assert request.wait_timeout.seconds == 300


async def test_clock(talos: Talos, node: FakeNode) -> None:
    """The offset is the node's clock minus the server's."""
    time = time_pb2.Time(
        server="ntp", localtime=stamp(NOON + timedelta(seconds=3)), remotetime=stamp(NOON)
    )
    node.on("TimeCheck", time_pb2.TimeResponse(messages=[time]))
    assert (await talos.cluster.clock("ntp")).offset == timedelta(seconds=3)


async def test_routing(talos: Talos, node: FakeNode) -> None:
    """A proxied call names its node; a direct one names none; both say they are for Talos."""
    node.on("Hostname", pb.HostnameResponse(messages=[pb.Hostname(hostname="w1")]))
    await talos.services.hostname()
    await talos.node("10.0.0.7").services.hostname()
    direct, proxied = (metadata for _, _, metadata in node.asked)
    assert "node" not in direct
    assert (proxied["node"], proxied["runtime"]) == (["10.0.0.7"], ["Talos"])


async def test_fan_out(talos: Talos, node: FakeNode) -> None:
    """One failed node of a fan-out is an error of its own beside the others' answers."""
    status = common_pb2.RpcStatus(code=7, message="not authorized")
    messages = [
        pb.Hostname(metadata=meta("w1"), hostname="w1"),
        pb.Hostname(metadata=common_pb2.Metadata(hostname="w2", error="x", status=status)),
    ]
    node.on("Hostname", pb.HostnameResponse(messages=messages))
    stub = talos.services._stub
    good, bad = await talos.caller.fan_out(stub.Hostname, Empty(), ["w1", "w2"])
    assert good.unwrap().hostname == "w1"
    assert (bad.node, str(bad.error)[:18]) == ("w2", "w2: not authorized")
    assert node.asked[0][2]["nodes"] == ["w1", "w2"]


async def test_each(talos: Talos, node: FakeNode) -> None:
    """Asking many nodes gives every answer, and every error in its place."""

    async def answer(_: Any, stream: Any) -> Any:
        if stream.metadata["node"] == "bad":
            return GRPCError(Status.NOT_FOUND, "no such node")
        return pb.HostnameResponse(messages=[pb.Hostname(hostname="h")])

    node.on("Hostname", answer)
    nodes = [talos.node("good"), talos.node("bad")]
    (_, first), (_, second) = await each(nodes, lambda t: t.services.hostname())
    assert first == "h"
    assert isinstance(second, TalopsError)


async def test_empty_answer(talos: Talos, node: FakeNode) -> None:
    """An answer without a message is a failure, not an empty value."""
    node.on("Hostname", pb.HostnameResponse())
    with pytest.raises(CallFailedError, match="without a message"):
        await talos.services.hostname()
