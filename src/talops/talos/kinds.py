"""The resources whose specs talops reads, each as a small dataclass."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

from talops.talos.answers import name_of
from talops.talos.resources import Kind
from talops.talos.wire import (
    spec_block_pb2,
    spec_cluster_pb2,
    spec_config_pb2,
    spec_enums_pb2,
    spec_etcd_pb2,
    spec_extensions_pb2,
    spec_hardware_pb2,
    spec_k8s_pb2,
    spec_network_pb2,
    spec_runtime_pb2,
    spec_time_pb2,
    spec_v1alpha1_pb2,
)

if TYPE_CHECKING:
    from talops.talos.resources import Resource
    from talops.talos.wire import common_pb2

Address = IPv4Address | IPv6Address


@dataclass(frozen=True)
class Member:
    id: str
    node_id: str
    hostname: str
    addresses: tuple[Address, ...]
    machine_type: str  # "control plane", "worker", "init" or "unknown"
    operating_system: str


@dataclass(frozen=True)
class MachineStatus:
    """`stage` is maintenance, installing, booting, running …; `unmet` is why it is not ready."""

    stage: str
    ready: bool
    unmet: tuple[tuple[str, str], ...]

    @property
    def reasons(self) -> str:
        """Every condition by name with its reason; empty when nothing is unmet."""
        return "; ".join(f"{name}: {reason}" for name, reason in self.unmet)


@dataclass(frozen=True)
class BlockDisk:
    id: str
    dev_path: str
    size: int
    model: str
    serial: str
    wwid: str
    uuid: str
    transport: str
    rotational: bool
    readonly: bool
    cdrom: bool


@dataclass(frozen=True)
class Volume:
    """`location` is its block device; a directory on another volume has none."""

    id: str
    type: str
    location: str


@dataclass(frozen=True)
class LinkStatus:
    name: str
    alias: str
    hardware_address: str
    permanent_address: str
    up: bool
    mtu: int
    kind: str


@dataclass(frozen=True)
class SystemInformation:
    """The machine as its firmware describes it (SMBIOS); a container has none."""

    uuid: str
    manufacturer: str
    product: str
    serial: str


@dataclass(frozen=True)
class AddressStatus:
    id: str
    address: str
    link: str


@dataclass(frozen=True)
class ServiceStatus:
    id: str
    running: bool
    healthy: bool | None


@dataclass(frozen=True)
class TimeStatus:
    synced: bool
    sync_disabled: bool


@dataclass(frozen=True)
class Discovery:
    """Whether the node uses the discovery service; `service` is its address."""

    enabled: bool
    service: str


@dataclass(frozen=True)
class UnattendedInstall:
    """The progress of an installation that a document of Talos 1.14 requests.

    `phase` is pending, installing, waiting for reboot, installed or failed.
    """

    phase: str
    error: str


@dataclass(frozen=True)
class Extension:
    """A system extension of the running image; the schematic is a virtual one, see `SCHEMATIC`."""

    name: str
    version: str


def _member(r: Resource) -> Member:
    spec = spec_cluster_pb2.MemberSpec.FromString(r.proto_spec)
    kind = name_of(spec_enums_pb2.MachineType, spec.machine_type)
    return Member(
        id=r.id,
        node_id=spec.node_id,
        hostname=spec.hostname,
        addresses=tuple(_address(ip) for ip in spec.addresses),
        machine_type=_words(kind, "TYPE_"),
        operating_system=spec.operating_system,
    )


def _machine_status(r: Resource) -> MachineStatus:
    spec = spec_runtime_pb2.MachineStatusSpec.FromString(r.proto_spec)
    stage = name_of(spec_enums_pb2.RuntimeMachineStage, spec.stage)
    return MachineStatus(
        stage=_words(stage, "MACHINE_STAGE_"),
        ready=spec.status.ready,
        unmet=tuple((c.name, c.reason) for c in spec.status.unmet_conditions),
    )


def _disk(r: Resource) -> BlockDisk:
    spec = spec_block_pb2.DiskSpec.FromString(r.proto_spec)
    return BlockDisk(
        id=r.id,
        dev_path=spec.dev_path,
        size=spec.size,
        model=spec.model,
        serial=spec.serial,
        wwid=spec.wwid,
        uuid=spec.uuid,
        transport=spec.transport,
        rotational=spec.rotational,
        readonly=spec.readonly,
        cdrom=spec.cdrom,
    )


def _volume(r: Resource) -> Volume:
    spec = spec_block_pb2.VolumeStatusSpec.FromString(r.proto_spec)
    kind = name_of(spec_enums_pb2.BlockVolumeType, spec.type)
    return Volume(r.id, _words(kind, "VOLUME_TYPE_"), spec.location)


def _link(r: Resource) -> LinkStatus:
    spec = spec_network_pb2.LinkStatusSpec.FromString(r.proto_spec)
    return LinkStatus(
        name=r.id,
        alias=spec.alias,
        hardware_address=spec.hardware_addr.hex(":"),
        permanent_address=spec.permanent_addr.hex(":"),
        up=spec.operational_state == spec_enums_pb2.OPER_STATE_UP,
        mtu=spec.mtu,
        kind=spec.kind,
    )


def _system(r: Resource) -> SystemInformation:
    spec = spec_hardware_pb2.SystemInformationSpec.FromString(r.proto_spec)
    return SystemInformation(spec.uuid, spec.manufacturer, spec.product_name, spec.serial_number)


def _address_status(r: Resource) -> AddressStatus:
    spec = spec_network_pb2.AddressStatusSpec.FromString(r.proto_spec)
    prefix = f"{ip_address(spec.address.ip)}/{spec.address.prefix_length}"
    return AddressStatus(id=r.id, address=prefix, link=spec.link_name)


def _service(r: Resource) -> ServiceStatus:
    spec = spec_v1alpha1_pb2.ServiceSpec.FromString(r.proto_spec)
    return ServiceStatus(r.id, spec.running, None if spec.unknown else spec.healthy)


def _etcd_member(r: Resource) -> str:
    return spec_etcd_pb2.MemberSpec.FromString(r.proto_spec).member_id


def _nodename(r: Resource) -> str:
    return spec_k8s_pb2.NodenameSpec.FromString(r.proto_spec).nodename


def _hostname(r: Resource) -> str:
    return spec_network_pb2.HostnameStatusSpec.FromString(r.proto_spec).hostname


def _time(r: Resource) -> TimeStatus:
    spec = spec_time_pb2.StatusSpec.FromString(r.proto_spec)
    return TimeStatus(spec.synced, spec.sync_disabled)


def _discovery(r: Resource) -> Discovery:
    spec = spec_cluster_pb2.ConfigSpec.FromString(r.proto_spec)
    endpoints = [endpoint.endpoint for endpoint in spec.service_endpoints]  # since 1.14
    older = spec.discovery_enabled and spec.registry_service_enabled
    return Discovery(older or bool(endpoints), spec.service_endpoint or ", ".join(endpoints))


def _unattended_install(r: Resource) -> UnattendedInstall:
    spec = spec_runtime_pb2.UnattendedInstallStatusSpec.FromString(r.proto_spec)
    phase = name_of(spec_enums_pb2.RuntimeUnattendedInstallPhase, spec.phase)
    return UnattendedInstall(_words(phase, "UNATTENDED_INSTALL_PHASE_"), spec.error)


def _extension(r: Resource) -> Extension:
    metadata = spec_extensions_pb2.Layer.FromString(r.proto_spec).metadata
    return Extension(metadata.name, metadata.version)


def _words(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).replace("_", " ").lower()


def _machine_config(r: Resource) -> str:
    return spec_config_pb2.MachineConfigSpec.FromString(r.proto_spec).yaml_marshalled.decode()


def _address(ip: common_pb2.NetIP) -> Address:
    return ip_address(ip.ip[:16])


MEMBERS = Kind("cluster", "Members.cluster.talos.dev", _member)
MACHINE_STATUS = Kind("runtime", "MachineStatuses.runtime.talos.dev", _machine_status)
DISKS = Kind("runtime", "Disks.block.talos.dev", _disk)
VOLUMES = Kind("runtime", "VolumeStatuses.block.talos.dev", _volume)
LINKS = Kind("network", "LinkStatuses.net.talos.dev", _link)
SYSTEM = Kind("hardware", "SystemInformations.hardware.talos.dev", _system)
ADDRESSES = Kind("network", "AddressStatuses.net.talos.dev", _address_status)
HOSTNAME = Kind("network", "HostnameStatuses.net.talos.dev", _hostname)
SERVICES = Kind("runtime", "Services.v1alpha1.talos.dev", _service)
ETCD_MEMBER = Kind("etcd", "EtcdMembers.etcd.talos.dev", _etcd_member)
NODENAME = Kind("k8s", "Nodenames.kubernetes.talos.dev", _nodename)
TIME = Kind("runtime", "TimeStatuses.v1alpha1.talos.dev", _time)
# The whole config, keys included: only for a role that may read it, and never for a log.
MACHINE_CONFIG = Kind("config", "MachineConfigs.config.talos.dev", _machine_config)

DISCOVERY = Kind("config", "DiscoveryConfigs.cluster.talos.dev", _discovery)
EXTENSIONS = Kind("runtime", "ExtensionStatuses.runtime.talos.dev", _extension)
# Since Talos 1.14; an older node does not know the kind.
UNATTENDED_INSTALL = Kind(
    "runtime", "UnattendedInstallStatuses.runtime.talos.dev", _unattended_install
)

# The only id where a kind has just one resource.
MACHINE_ID = "machine"
CONFIG_ID = "v1alpha1"
# The stored config; Talos shows it only after one was stored in this boot. It differs from the
# active one while a trial is pending, and after a config was staged.
STORED_CONFIG_ID = "persistent"
LOCAL_ETCD_ID = "local"
NODENAME_ID = "nodename"
HOSTNAME_ID = "hostname"
SYSTEM_ID = "systeminformation"
TIME_ID = "node"
DISCOVERY_ID = "cluster"
# The extension that the Image Factory adds to each image: its version is the schematic's id.
SCHEMATIC = "schematic"
UNATTENDED_INSTALL_ID = "unattended-install"
