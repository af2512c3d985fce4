"""What real nodes answered, read by the client: every exchange, every kind, every refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from grpclib.const import Status
from tests.recordings.talos import exchanges

from talops.quickyaml import load, load_all
from talops.talos import kinds
from talops.talos.calls.logs import OtherChange
from talops.talos.errors import (
    InvalidRequestError,
    NotAuthorizedError,
    NotFoundError,
    PreconditionError,
    UnsupportedError,
)
from talops.talos.resources import Kind, Resource, decode_resource
from talops.talos.statuses import error_from
from talops.talos.wire import cosi_pb2
from talops.talos.wire import machine_pb2 as pb
from talops.talos.wire.cosi_grpc import StateStub
from talops.talos.wire.machine_grpc import MachineServiceStub
from talops.talos.wire.storage_grpc import StorageServiceStub
from talops.talos.wire.time_grpc import TimeServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.recordings.talos import Exchange
    from tests.talos.conftest import FakeNode

    from talops.talos.client import Talos

NO_CHANNEL: Any = None
STUBS = (StateStub, MachineServiceStub, StorageServiceStub, TimeServiceStub)
METHODS = {
    method.name: method
    for stub in STUBS
    for method in vars(stub(NO_CHANNEL)).values()
    if hasattr(method, "reply_type")
}
# A watch was ended by the recorder, and Events by the node: neither says what went wrong.
ENDED = {"OK", "TIMEOUT", "StreamTerminatedError"}


def name_of(exchange: Exchange) -> str:
    return exchange.method.rpartition("/")[2]


def unknown_fields(message: Any, path: str = "") -> Iterator[str]:
    """Fields that a real node sent and our .proto files do not have."""
    strange: Any = UnknownFieldSet(message)
    for field in strange:
        yield f"{path}: field {field.field_number}"
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        inner = value if field.is_repeated else [value]
        for one in inner:
            yield from unknown_fields(one, f"{path}.{field.name}")


def test_every_message_is_known() -> None:
    """All 812 exchanges parse, and no field of a reply or of a metadata is unknown to us."""
    assert len(exchanges()) == 812
    strange: set[str] = set()
    for exchange in exchanges():
        method = METHODS[exchange.method]
        method.request_type.FromString(exchange.request)
        for response in exchange.responses:
            message = method.reply_type.FromString(response)
            strange.update(unknown_fields(message, name_of(exchange)))
    assert strange == set()


def resources() -> Iterator[tuple[Exchange, Resource]]:
    for exchange in exchanges():
        if exchange.method == "/cosi.resource.State/List":
            for response in exchange.responses:
                message = cosi_pb2.ListResponse.FromString(response)
                yield exchange, decode_resource(message.resource)


def test_every_resource_is_read() -> None:
    """Each has a type, an id and a spec that is YAML; nothing but text is left of a config."""
    found = [resource for _, resource in resources()]
    assert len({resource.type for resource in found}) > 100
    for resource in found:
        assert resource.type
        assert resource.id
        assert resource.version != ""
        spec = load(resource.yaml_spec)
        assert spec == resource.spec, resource.type


def _machine_type(text: str) -> str:
    return text.replace("controlplane", "control plane")


# What each kind that talops reads by meaning says, against the YAML that the node sends beside it.
EXPECTED: dict[Kind[Any], Any] = {
    kinds.MEMBERS: lambda s, r: {
        "id": r.id,
        "node_id": s["nodeId"],
        "hostname": s["hostname"],
        "addresses": s["addresses"],
        "machine_type": _machine_type(s["machineType"]),
        "operating_system": s["operatingSystem"],
    },
    kinds.MACHINE_STATUS: lambda s, _: {
        "stage": s["stage"],
        "ready": s["status"]["ready"],
        "unmet": [(c["name"], c["reason"]) for c in s["status"]["unmetConditions"]],
    },
    kinds.LINKS: lambda s, r: {
        "name": r.id,
        "alias": s.get("alias", ""),
        "hardware_address": s["hardwareAddr"],
        "permanent_address": s["permanentAddr"],
        "up": s["operationalState"] == "up",
        "mtu": s["mtu"],
        "kind": s["kind"],
    },
    kinds.ADDRESSES: lambda s, r: {"id": r.id, "address": s["address"], "link": s["linkName"]},
    kinds.SERVICES: lambda s, r: {
        "id": r.id,
        "running": s["running"],
        "healthy": None if s["unknown"] else s["healthy"],
    },
    kinds.TIME: lambda s, _: {"synced": s["synced"], "sync_disabled": s["syncDisabled"]},
    kinds.VOLUMES: lambda s, r: {
        "id": r.id,
        "type": s["type"],
        "location": s.get("location", ""),
    },
    kinds.DISCOVERY: lambda s, _: {
        "enabled": s["discoveryEnabled"] and s["registryServiceEnabled"],
        "service": s["serviceEndpoint"],
    },
    kinds.HOSTNAME: lambda s, _: s["hostname"],
    kinds.NODENAME: lambda s, _: s["nodename"],
    kinds.ETCD_MEMBER: lambda s, _: s["memberID"],
    kinds.MACHINE_CONFIG: lambda s, _: s,
}


@pytest.mark.parametrize("kind", EXPECTED, ids=lambda kind: kind.type)
def test_kinds_that_talops_reads(kind: Kind[Any]) -> None:
    """Each decodes without a loss, for every role and every node."""
    found = [r for _, r in resources() if r.type == kind.type]
    assert found
    for resource in found:
        assert _plain(kind.decode(resource)) == EXPECTED[kind](resource.spec, resource)


def _plain(seen: Any) -> Any:
    """As YAML would have it: lists for tuples, text for addresses."""
    if isinstance(seen, str):
        return seen
    fields = dict(vars(seen))
    if isinstance(seen, kinds.Member):
        fields["addresses"] = [str(address) for address in seen.addresses]
    if isinstance(seen, kinds.MachineStatus):
        fields["unmet"] = list(seen.unmet)
    return fields


def test_all_kinds_are_judged() -> None:
    """Nodes of 1.13 in containers have no disks, images and SMBIOS, and nothing of 1.14."""
    ours = {kind.type for kind in vars(kinds).values() if isinstance(kind, Kind)}
    unseen = {kinds.DISKS.type, kinds.SYSTEM.type, kinds.UNATTENDED_INSTALL.type}
    unseen.add(kinds.EXTENSIONS.type)
    assert ours - {kind.type for kind in EXPECTED} == unseen


def test_the_config_that_a_node_runs() -> None:
    """It is a config: a v1alpha1 document of a control plane or a worker."""
    found = [r for _, r in resources() if r.type == kinds.MACHINE_CONFIG.type]
    assert {resource.id for resource in found} >= {kinds.CONFIG_ID}
    for resource in found:
        text = kinds.MACHINE_CONFIG.decode(resource)
        (main,) = [document for document in load_all(text) if "machine" in document]
        assert main["machine"]["type"] in {"controlplane", "worker"}


# Recorded status and a part of the text → what a caller of the client gets, and its hint.
REFUSALS: tuple[tuple[str, str, type[Exception], str], ...] = (
    ("INVALID_ARGUMENT", "", InvalidRequestError, ""),
    ("NOT_FOUND", "", NotFoundError, ""),
    ("PERMISSION_DENIED", "not authorized", NotAuthorizedError, "os:admin"),
    ("PERMISSION_DENIED", "is not supported", UnsupportedError, "talos get rd"),
    ("UNIMPLEMENTED", "only available on control plane", UnsupportedError, "a control plane"),
    ("UNAVAILABLE", "containerd.sock", PreconditionError, "talos services"),
    ("UNKNOWN", "was not registered", NotFoundError, "talos services"),
    ("UNKNOWN", "not defined", NotFoundError, "talos services"),
)
OTHER = {"Time", "ServiceStop"}  # neither the network's nor machined's answer has a family


def test_every_refusal_has_its_error() -> None:
    """No recorded refusal is left without a meaning, and no meaning without a recording."""
    used = set()
    for exchange in exchanges():
        if exchange.status in ENDED:
            continue
        error = error_from(Status[exchange.status], exchange.message, "node")
        rows = [row for row in REFUSALS if row[0] == exchange.status and row[1] in exchange.message]
        if not rows:
            assert name_of(exchange) in OTHER
            continue
        (row,) = rows
        used.add(row)
        assert type(error) is row[2], exchange.message
        assert row[3] in (error.hint or "")
        assert error.what == exchange.message
    assert used == set(REFUSALS)


def replies(method: str) -> Iterator[tuple[Exchange, Any]]:
    for exchange in exchanges():
        if name_of(exchange) == method:
            for response in exchange.responses:
                yield exchange, METHODS[exchange.method].reply_type.FromString(response)


async def test_services(talos: Talos, node: FakeNode) -> None:
    """A service that was never checked has no time of its last change, rather than the year 1."""
    for _, reply in replies("ServiceList"):
        node.on("ServiceList", reply)
        services = await talos.services.list()
        assert {"apid", "containerd", "machined"} <= {service.id for service in services}
        for service in services:
            times = [service.changed, *(event.time for event in service.events)]
            assert all(time is None or time.year > 2000 for time in times)


async def test_events(talos: Talos, node: FakeNode) -> None:
    """The hello is not an event, and every event that was recorded has a type of ours."""
    for exchange in exchanges():
        if name_of(exchange) != "Events" or not exchange.responses:
            continue
        sent = [pb.Event.FromString(response) for response in exchange.responses]
        node.on("Events", sent)
        seen = [event async for event in talos.logs.events(tail=-1)]
        assert len(seen) == len(sent) - 1
        strange = {type(e.change) for e in seen if isinstance(e.change, OtherChange)}
        assert strange == set(), [e.change for e in seen if isinstance(e.change, OtherChange)]
