"""`talops talos …`, as it is typed, against a node on loopback."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from ruamel.yaml import YAML
from tests.talos.conftest import Authority, FakeNode, data, encoded, meta

from talops.cli.app import run
from talops.cli.talos.output import human
from talops.cli.talos.resources import look_up
from talops.redaction import Secret
from talops.talos import talosconfig
from talops.talos.wire import cluster_pb2, cosi_meta_pb2, cosi_pb2, spec_runtime_pb2, storage_pb2
from talops.talos.wire import machine_pb2 as pb
from talops.talosconfig import Context, Talosconfig

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

VERSION = pb.Version(
    metadata=meta(),
    version=pb.VersionInfo(tag="v1.13.9", arch="amd64"),
    platform=pb.PlatformInfo(name="nocloud", mode="cloud"),
)
MEMBERS = "Members.cluster.talos.dev"


@pytest.fixture
def config(authority: Authority, node: FakeNode, tmp_path: Path) -> Path:
    pair = authority.client()
    context = Context(
        name="lab",
        endpoints=(f"127.0.0.1:{node.port}",),
        ca=encoded(authority.certificate),
        crt=encoded(pair.certificate),
        key=Secret(encoded(pair.key)),
    )
    path = tmp_path / "talosconfig"
    path.write_text(json.dumps(Talosconfig("lab", {"lab": context}).to_data()))
    return path


@pytest.fixture
def talops(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Awaitable[tuple[int, str, str]]]:
    """Type a command; its exit code, stdout and stderr."""

    async def type_(*words: str) -> tuple[int, str, str]:
        argv = ["talos", *words, "--talosconfig", str(config)]
        code = await asyncio.to_thread(run, argv)  # the command has an event loop of its own
        out = capsys.readouterr()
        return code, out.out, out.err

    return type_


async def test_version(talops: Any, node: FakeNode) -> None:
    """A table for people, the same as JSON and YAML for programs."""
    node.on("Version", pb.VersionResponse(messages=[VERSION]))
    code, out, _ = await talops("version")
    assert code == 0
    heads, values = out.splitlines()
    assert heads.split()[:3] == ["NODE", "TAG", "PLATFORM"]
    assert values.split()[:3] == [f"127.0.0.1:{node.port}", "v1.13.9", "nocloud"]
    _, out, _ = await talops("version", "-o", "json")
    assert json.loads(out)[0]["tag"] == "v1.13.9"
    _, out, _ = await talops("version", "-o", "yaml")
    assert YAML(typ="safe").load(out)[0]["arch"] == "amd64"


async def test_one_node_fails(talops: Any, node: FakeNode) -> None:
    """What answered is shown, what did not is named, and the exit code says failed."""

    async def answer(_: Any, stream: Any) -> Any:
        if stream.metadata.get("node") == "10.0.0.9":
            return GRPCError(Status.PERMISSION_DENIED, "not authorized")
        return pb.VersionResponse(messages=[VERSION])

    node.on("Version", answer)
    code, out, err = await talops("version", "-n", f"127.0.0.1:{node.port},10.0.0.9")
    assert code == 1
    assert "v1.13.9" in out
    assert "not authorized" in err
    assert f"10.0.0.9 via 127.0.0.1:{node.port}" in err
    assert "next:" in err


async def test_services(talops: Any, node: FakeNode) -> None:
    """All services, or the story of one."""
    info = pb.ServiceInfo(
        id="etcd",
        state="Running",
        health=pb.ServiceHealth(healthy=True),
        events=pb.ServiceEvents(events=[pb.ServiceEvent(msg="Health check successful")]),
    )
    node.on("ServiceList", pb.ServiceListResponse(messages=[pb.ServiceList(services=[info])]))
    _, out, _ = await talops("services")
    assert out.splitlines()[1].split()[1:4] == ["etcd", "Running", "yes"]
    _, out, _ = await talops("services", "etcd")
    assert "Health check successful" in out
    code, _, err = await talops("services", "nope")
    assert (code, "no service 'nope'" in err) == (1, True)


def resources(request: Any) -> list[Any]:
    if request.type == "ResourceDefinitions.meta.cosi.dev":
        column = cosi_meta_pb2.ResourceDefinitionSpec.PrintColumn(name="Host", json_path="{.host}")
        spec = cosi_meta_pb2.ResourceDefinitionSpec(
            resource_type=MEMBERS,
            display_type="Member",
            default_namespace="cluster",
            all_aliases=["members"],
            print_columns=[column],
        )
        meta_ = cosi_pb2.Metadata(id=MEMBERS.lower())
        body = cosi_pb2.Spec(proto_spec=spec.SerializeToString(), yaml_spec="{}")
    else:
        meta_ = cosi_pb2.Metadata(namespace=request.namespace, type=request.type, id="cp1")
        body = cosi_pb2.Spec(yaml_spec="host: cp1.lab\n")
    return [cosi_pb2.ListResponse(resource=cosi_pb2.Resource(metadata=meta_, spec=body))]


async def test_get(talops: Any, node: FakeNode) -> None:
    """A kind is found by its alias and shown by its own columns; JSON carries all of it."""

    async def listed(request: Any, _: Any) -> Any:
        return resources(request)

    node.on("List", listed)
    code, out, _ = await talops("get", "members")
    heads, values = out.splitlines()
    assert (code, heads.split()) == (0, ["NODE", "NAMESPACE", "TYPE", "ID", "VERSION", "HOST"])
    assert values.split()[1:] == ["cluster", "Member", "cp1", "-", "cp1.lab"]
    _, out, _ = await talops("get", "members", "-o", "json")
    (document,) = json.loads(out)
    assert document["metadata"]["type"] == MEMBERS
    assert document["spec"] == {"host": "cp1.lab"}
    code, _, err = await talops("get", "nonsense")
    assert (code, "talops talos get rd" in err) == (1, True)


async def test_watch(talops: Any, node: FakeNode) -> None:
    """A watch prints each change as it comes."""

    async def listed(request: Any, _: Any) -> Any:
        return resources(request)

    node.on("List", listed)
    (item,) = resources(cosi_pb2.ListRequest(namespace="cluster", type=MEMBERS))
    change = cosi_pb2.Event(event_type="CREATED", resource=item.resource)
    node.on("Watch", [cosi_pb2.WatchResponse(event=[change])])
    _, out, _ = await talops("get", "members", "-w", "-o", "json")
    assert json.loads(out)["event"] == "created"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("{.a.b}", 1),
        (".a.b", 1),
        ("{.list[1]}", "y"),
        ("{.list[7]}", None),
        ("{.items[*].n}", [1, 2]),
        ("{.nothing.there}", None),
    ],
)
def test_columns(path: str, expected: Any) -> None:
    """The paths that nodes give for their columns are understood, wrong ones give nothing."""
    spec = {"a": {"b": 1}, "list": ["x", "y"], "items": [{"n": 1}, {"n": 2}]}
    assert look_up(spec, path) == expected


async def test_logs_of_two_nodes(talops: Any, node: FakeNode) -> None:
    """Lines of several nodes are distinguished, and never split."""
    node.on("Logs", data(b"hel", b"lo\nwor", b"ld"))
    endpoint = f"127.0.0.1:{node.port}"
    _, out, _ = await talops("logs", "etcd", "-n", endpoint, "-n", "10.0.0.2")
    expected = [f"{name}: {word}" for name in ("10.0.0.2", endpoint) for word in ("hello", "world")]
    assert sorted(out.splitlines()) == expected


async def test_maintenance_disks(maintenance: FakeNode, capsys: pytest.CaptureFixture[str]) -> None:
    """Before there is a talosconfig, --insecure shows the disks to install on."""
    disk = storage_pb2.Disk(device_name="/dev/sda", size=5, serial="S1")
    maintenance.on("Disks", storage_pb2.DisksResponse(messages=[storage_pb2.Disks(disks=[disk])]))
    argv = ["talos", "disks", "--insecure", "-n", f"127.0.0.1:{maintenance.port}", "-o", "json"]
    assert await asyncio.to_thread(run, argv) == 0
    assert json.loads(capsys.readouterr().out)[0]["serial"] == "S1"


async def test_health(talops: Any, node: FakeNode) -> None:
    """Progress goes to stderr, the verdict to stdout; a red check fails the command."""
    node.on("HealthCheck", [cluster_pb2.HealthCheckProgress(message="etcd: OK")])
    code, out, err = await talops("health")
    assert (code, out, err) == (0, "the cluster is healthy\n", "etcd: OK\n")
    node.on("HealthCheck", GRPCError(Status.DEADLINE_EXCEEDED, "etcd is not healthy"))
    code, out, err = await talops("health")
    assert (code, out) == (1, "")
    assert "etcd is not healthy" in err


async def test_health_of_the_inventory(talops: Any, node: FakeNode, tmp_path: Path) -> None:
    """Its nodes are the ones checked: without a discovery service a node knows no other."""
    example = Path(__file__).parent.parent.parent / "examples" / "ha"
    for name in ("cluster.yaml", "nodes.yaml"):
        text = (example / name).read_text()
        (tmp_path / name).write_text(text.replace("cluster_name: ha", "cluster_name: lab"))
    node.on("HealthCheck", [cluster_pb2.HealthCheckProgress(message="etcd: OK")])
    code, _, err = await talops("health", "-C", str(tmp_path))
    assert code == 0, err
    assert len(node.requests("HealthCheck")[0].cluster_info.control_plane_nodes) == 3
    assert "10.30.0.21" in node.requests("HealthCheck")[0].cluster_info.worker_nodes
    (tmp_path / "cluster.yaml").write_text((example / "cluster.yaml").read_text())
    await talops("health", "-C", str(tmp_path))
    assert not node.requests("HealthCheck")[1].cluster_info.control_plane_nodes, "another cluster"


@pytest.mark.parametrize("command", ["reboot", "shutdown", "reset", "rollback", "upgrade"])
async def test_changes_need_named_nodes(talops: Any, node: FakeNode, command: str) -> None:
    """A command that changes nodes never guesses which."""
    image = ["--image", "x"] if command == "upgrade" else []
    code, _, err = await talops(command, *image)
    assert (code, "--nodes" in err, node.asked) == (1, True, [])


def worker(node: FakeNode) -> None:
    """It does not run etcd, so etcd is not asked."""
    services = [pb.ServiceInfo(id="kubelet", state="Running")]
    node.on("ServiceList", pb.ServiceListResponse(messages=[pb.ServiceList(services=services)]))


async def test_reset_asks(talops: Any, node: FakeNode) -> None:
    """Without a terminal and without --yes, nothing is wiped."""
    worker(node)
    endpoint = f"127.0.0.1:{node.port}"
    code, _, err = await talops("reset", "-n", endpoint)
    assert (code, "--yes" in err, node.asked) == (1, True, [])
    node.on("Reset", pb.ResetResponse(messages=[pb.Reset(actor_id="a-1")]))
    code, out, _ = await talops("reset", "-n", endpoint, "--yes", "--no-graceful", "--reboot")
    assert (code, "a-1" in out) == (0, True)
    (request,) = node.requests("Reset")
    assert (request.graceful, request.reboot) == (False, True)


def running() -> Any:
    spec = spec_runtime_pb2.MachineStatusSpec(
        stage="MACHINE_STAGE_RUNNING", status=spec_runtime_pb2.MachineStatusStatus(ready=True)
    )
    body = cosi_pb2.Spec(proto_spec=spec.SerializeToString(), yaml_spec="{}")
    return cosi_pb2.GetResponse(resource=cosi_pb2.Resource(spec=body))


async def test_reboot_waits(talops: Any, node: FakeNode) -> None:
    """A reboot is over when the node runs again under another boot id."""

    async def boot_id(_: Any, __: Any) -> Any:
        return data(b"old\n" if len(node.requests("Read")) <= 2 else b"new\n")

    worker(node)
    node.on("Read", boot_id)
    node.on("Get", running())
    node.on("Version", pb.VersionResponse(messages=[VERSION]))
    node.on("Reboot", pb.RebootResponse(messages=[pb.Reboot(actor_id="a")]))
    endpoint = f"127.0.0.1:{node.port}"
    code, out, err = await talops("reboot", "-n", endpoint)
    assert (code, out) == (0, f"{endpoint}: running v1.13.9\n")
    assert "has not rebooted yet" in err
    assert len(node.requests("Reboot")) == 1


async def test_upgrade_refused_without_quorum(talops: Any, node: FakeNode) -> None:
    """A control plane is not removed from two etcd members."""
    services = [pb.ServiceInfo(id="etcd", state="Running")]
    node.on("ServiceList", pb.ServiceListResponse(messages=[pb.ServiceList(services=services)]))
    members = [pb.EtcdMember(id=i, client_urls=[f"https://10.0.0.{i}:2379"]) for i in (1, 2)]
    node.on("EtcdMemberList", pb.EtcdMemberListResponse(messages=[pb.EtcdMembers(members=members)]))
    state = pb.EtcdMemberStatus(member_id=1, leader=1)
    node.on("EtcdStatus", pb.EtcdStatusResponse(messages=[pb.EtcdStatus(member_status=state)]))
    endpoint = f"127.0.0.1:{node.port}"
    code, _, err = await talops("upgrade", "-n", endpoint, "--image", "i:v1.13.9")
    assert (code, "two etcd members" in err) == (1, True)
    assert node.requests("Upgrade") == []


@pytest.mark.parametrize(("healthy", "allowed"), [(True, False), (False, True)])
async def test_unread_etcd(talops: Any, node: FakeNode, healthy: bool, allowed: bool) -> None:
    """A healthy member that cannot be asked is not stopped; one that does not serve may be."""
    health = pb.ServiceHealth(healthy=healthy)
    services = [pb.ServiceInfo(id="etcd", state="Running", health=health)]
    node.on("ServiceList", pb.ServiceListResponse(messages=[pb.ServiceList(services=services)]))
    node.on("EtcdStatus", GRPCError(Status.UNKNOWN, "context deadline exceeded"))
    node.on("Rollback", pb.RollbackResponse(messages=[pb.Rollback()]))
    code, _, err = await talops("rollback", "-n", f"127.0.0.1:{node.port}")
    assert (code == 0, bool(node.requests("Rollback"))) == (allowed, allowed), err
    assert ("cannot be asked" in err) is not allowed


async def test_etcd(talops: Any, node: FakeNode) -> None:
    """Member ids are shown and taken in hexadecimal, as etcd's own tools do."""
    members = pb.EtcdMembers(members=[pb.EtcdMember(id=0xABC, hostname="cp1")])
    node.on("EtcdMemberList", pb.EtcdMemberListResponse(messages=[members]))
    _, out, _ = await talops("etcd", "members")
    assert out.splitlines()[1].split()[1:3] == ["abc", "cp1"]
    node.on(
        "EtcdRemoveMemberByID",
        pb.EtcdRemoveMemberByIDResponse(messages=[pb.EtcdRemoveMemberByID()]),
    )
    assert (await talops("etcd", "remove-member", "abc"))[0] == 0
    assert node.requests("EtcdRemoveMemberByID")[0].member_id == 0xABC
    assert (await talops("etcd", "remove-member", "xyz"))[0] == 1


async def test_client_config(talops: Any, node: FakeNode, tmp_path: Path) -> None:
    """A new talosconfig goes to a private file, never to the terminal."""
    made = pb.GenerateClientConfiguration(talosconfig=b"context: x\n")
    node.on("GenerateClientConfiguration", pb.GenerateClientConfigurationResponse(messages=[made]))
    target = tmp_path / "new"
    code, out, _ = await talops("client-config", str(target), "--role", "os:reader")
    assert (code, out) == (0, "")
    assert target.read_text() == "context: x\n"
    assert target.stat().st_mode & 0o777 == 0o600


async def test_no_talosconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without any talosconfig the way to name one is shown."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TALOSCONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    assert await asyncio.to_thread(run, ["talos", "version"]) == 1
    assert "TALOSCONFIG" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (21474836480, "21.5 GB"), (4e12, "4 TB")]
)
def test_sizes(size: float, text: str) -> None:
    """Sizes in tables are for people; JSON keeps the bytes."""
    assert human(size) == text


def add_worker(config: Path) -> None:
    loaded = talosconfig.read(config)
    context = replace(loaded.contexts["lab"], nodes=("10.0.0.99",))
    config.write_text(json.dumps(replace(loaded, contexts={"lab": context}).to_data()))


async def test_etcd_asks_control_planes(talops: Any, node: FakeNode, config: Path) -> None:
    """Without --nodes, etcd is looked for on the endpoints and not on the context's workers."""
    add_worker(config)
    node.on("EtcdAlarmList", pb.EtcdAlarmListResponse(messages=[pb.EtcdAlarm()]))
    assert (await talops("etcd", "alarms"))[0] == 0
    assert "node" not in node.asked[0][2]
