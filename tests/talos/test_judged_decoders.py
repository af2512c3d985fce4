"""Decoders against specs that the real Talos library encoded, every field set to something."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest

from talops.talos import kinds
from talops.talos.kinds import (
    AddressStatus,
    BlockDisk,
    Discovery,
    Extension,
    LinkStatus,
    MachineStatus,
    Member,
    ServiceStatus,
    SystemInformation,
    TimeStatus,
    UnattendedInstall,
    Volume,
)
from talops.talos.resources import Kind, Resource

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.oracle.asking import Encoded, Oracle

LIBRARIES = ["1.13", "1.14"]
SPECS = 40
ID = "some-id"

pytestmark = pytest.mark.slow


def resource_of(encoded: Encoded) -> Resource:
    then = datetime(2026, 1, 2, tzinfo=UTC)
    return Resource(
        namespace="test",
        type=encoded.type,
        id=encoded.id,
        version="1",
        owner="",
        phase="running",
        created=then,
        updated=then,
        proto_spec=encoded.proto,
    )


def member(spec: Any) -> Member:
    return Member(
        id=ID,
        node_id=spec["nodeId"],
        hostname=spec["hostname"],
        addresses=tuple(ip_address(text) for text in spec["addresses"]),
        machine_type={"controlplane": "control plane"}.get(
            spec["machineType"], spec["machineType"]
        ),
        operating_system=spec["operatingSystem"],
    )


def machine_status(spec: Any) -> MachineStatus:
    unmet = spec["status"]["unmetConditions"]
    return MachineStatus(
        stage=spec["stage"],
        ready=spec["status"]["ready"],
        unmet=tuple((condition["name"], condition["reason"]) for condition in unmet),
    )


def system(spec: Any) -> SystemInformation:
    return SystemInformation(
        spec["uuid"], spec["manufacturer"], spec["productName"], spec["serialnumber"]
    )


def disk(spec: Any) -> BlockDisk:
    # A flag that is false is not shown.
    shown = {"rotational": False, "readonly": False, "cdrom": False, **spec}
    names = [field.name for field in fields(BlockDisk) if field.name != "id"]
    return BlockDisk(id=ID, **{name: shown[name] for name in names})


def link(spec: Any) -> LinkStatus:
    return LinkStatus(
        name=ID,
        alias=spec["alias"],
        hardware_address=spec["hardwareAddr"],
        permanent_address=spec["permanentAddr"],
        up=spec["operationalState"] == "up",
        mtu=spec["mtu"],
        kind=spec["kind"],
    )


def service(spec: Any) -> ServiceStatus:
    return ServiceStatus(ID, spec["running"], None if spec["unknown"] else spec["healthy"])


def discovery(spec: Any) -> Discovery:
    endpoints = [endpoint["endpoint"] for endpoint in spec.get("serviceEndpoints", ())]
    older = spec["discoveryEnabled"] and spec["registryServiceEnabled"]
    return Discovery(older or bool(endpoints), spec["serviceEndpoint"] or ", ".join(endpoints))


def unattended(spec: Any) -> UnattendedInstall:
    return UnattendedInstall(spec["phase"].replace("-", " "), spec["error"])


# For each kind: what it should decode to, made of what `talosctl get -o yaml` would show.
EXPECTED: list[tuple[Kind[Any], Callable[[Any], Any]]] = [
    (kinds.MEMBERS, member),
    (kinds.MACHINE_STATUS, machine_status),
    (kinds.DISKS, disk),
    (kinds.VOLUMES, lambda spec: Volume(ID, spec["type"], spec["location"])),
    (kinds.LINKS, link),
    (kinds.SYSTEM, system),
    (kinds.ADDRESSES, lambda spec: AddressStatus(ID, spec["address"], spec["linkName"])),
    (kinds.HOSTNAME, lambda spec: spec["hostname"]),
    (kinds.SERVICES, service),
    (kinds.ETCD_MEMBER, lambda spec: spec["memberID"]),
    (kinds.NODENAME, lambda spec: spec["nodename"]),
    (kinds.TIME, lambda spec: TimeStatus(spec["synced"], spec["syncDisabled"])),
    (kinds.DISCOVERY, discovery),
    (kinds.UNATTENDED_INSTALL, unattended),
    (
        kinds.EXTENSIONS,
        lambda spec: Extension(spec["metadata"]["name"], spec["metadata"]["version"]),
    ),
]
SINCE_1_14 = {kinds.UNATTENDED_INSTALL.type}


def every_kind() -> set[str]:
    return {value.type for value in vars(kinds).values() if isinstance(value, Kind)}


def test_no_kind_is_forgotten() -> None:
    """A kind that talops learns to read has to be judged here, too."""
    assert {kind.type for kind, _ in EXPECTED} | {kinds.MACHINE_CONFIG.type} == every_kind()


@pytest.mark.parametrize(
    ("library", "kind", "expected"),
    [
        pytest.param(library, kind, expected, id=f"{kind.type}-{library}")
        for kind, expected in EXPECTED
        for library in LIBRARIES
        if library != "1.13" or kind.type not in SINCE_1_14
    ],
)
def test_decoder(
    rng: random.Random,
    oracle: Callable[[str], Oracle],
    library: str,
    kind: Kind[Any],
    expected: Callable[[Any], Any],
) -> None:
    """Every field that talops reads has the value that the library wrote."""
    for _ in range(SPECS):
        encoded = oracle(library).encoded(
            "resource", type=kind.type, id=ID, seed=rng.randrange(1 << 32)
        )
        assert kind.decode(resource_of(encoded)) == expected(encoded.spec)


CONFIG = """\
version: v1alpha1
machine:
  type: worker
  token: abcdef.0123456789abcdef
  nodeLabels:
    note: größer als 127 Zeichen, damit die Länge der Nachricht zwei Bytes braucht
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: w-1
"""


@pytest.mark.parametrize("library", LIBRARIES)
def test_machine_config(oracle: Callable[[str], Oracle], library: str) -> None:
    """A node's config travels in a message of its own: the bytes of the spec are not its text."""
    encoded = oracle(library).encoded("machine-config", config=CONFIG)
    assert encoded.type == kinds.MACHINE_CONFIG.type
    assert encoded.proto != CONFIG.encode()
    assert kinds.MACHINE_CONFIG.decode(resource_of(encoded)) == CONFIG
