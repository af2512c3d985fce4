"""Authorization of calls: the roles are the organizations in the client certificate."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from grpclib.const import Status
from grpclib.exceptions import GRPCError

if TYPE_CHECKING:
    from grpclib.protocol import Peer

ADMIN, OPERATOR, READER, BACKUP = "os:admin", "os:operator", "os:reader", "os:etcd:backup"
MAINTENANCE = "maintenance"  # not a role of Talos: the caller of a node without a config

_READ = frozenset({ADMIN, OPERATOR, READER})
_OPERATE = frozenset({ADMIN, OPERATOR})
_ETCD_READ = _READ | {BACKUP}

_MACHINE: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        [
            "Containers",
            "CPUInfo",
            "CPUFreqStats",
            "DiskStats",
            "DiskUsage",
            "Dmesg",
            "Events",
            "Hostname",
            "ImageList",
            "List",
            "LoadAvg",
            "Logs",
            "LogsContainers",
            "Memory",
            "Mounts",
            "NetworkDeviceStats",
            "Netstat",
            "Processes",
            "ServiceList",
            "Stats",
            "SystemStat",
            "Version",
        ],
        _READ,
    ),
    **dict.fromkeys(
        [
            "EtcdAlarmDisarm",
            "EtcdDefragment",
            "ImagePull",
            "PacketCapture",
            "Reboot",
            "Restart",
            "ServiceRestart",
            "ServiceStart",
            "ServiceStop",
            "Shutdown",
        ],
        _OPERATE,
    ),
    **dict.fromkeys(["EtcdAlarmList", "EtcdMemberList", "EtcdStatus"], _ETCD_READ),
    "EtcdSnapshot": _OPERATE | {BACKUP},
}
_OTHERS: dict[str, frozenset[str]] = {
    "/cluster.ClusterService/HealthCheck": _READ,
    "/cosi.resource.State/Get": _READ,
    "/cosi.resource.State/List": _READ,
    "/cosi.resource.State/Watch": _READ,
    "/inspect.InspectService/ControllerRuntimeDependencies": _READ,
    "/machine.ImageService/List": _READ,
    "/machine.ImageService/Pull": _OPERATE,
    "/machine.ImageService/Verify": _READ,
    "/storage.StorageService/Disks": _READ,
    "/time.TimeService/Time": _READ,
    "/time.TimeService/TimeCheck": _READ,
}
_IN_MAINTENANCE = frozenset(
    {
        "/machine.MachineService/ApplyConfiguration",
        "/storage.StorageService/Disks",
        "/storage.StorageService/BlockDeviceWipe",
        "/cosi.resource.State/Get",
        "/cosi.resource.State/List",
        "/cosi.resource.State/Watch",
    }
)
_READERS_IN_MAINTENANCE = 13  # the minor version since which all readers' calls work there


def allowed(path: str) -> frozenset[str]:
    """Methods that are not listed require an administrator."""
    _, service, method = path.split("/")
    if service == "machine.MachineService":
        return _MACHINE.get(method, frozenset({ADMIN}))
    return _OTHERS.get(path, frozenset({ADMIN}))


def authorize(path: str, roles: frozenset[str], *, minor: int) -> None:
    if MAINTENANCE in roles:
        _authorize_in_maintenance(path, minor)
    elif not roles & allowed(path):
        raise GRPCError(Status.PERMISSION_DENIED, "not authorized")


def _authorize_in_maintenance(path: str, minor: int) -> None:
    if path in _IN_MAINTENANCE:
        return
    if minor < _READERS_IN_MAINTENANCE:
        raise GRPCError(Status.UNIMPLEMENTED, f"API is not implemented in maintenance mode: {path}")
    if READER not in allowed(path):
        raise GRPCError(Status.PERMISSION_DENIED, "not authorized")


def roles_of(peer: Peer) -> frozenset[str]:
    """A server certificate is not a client certificate: it has no roles."""
    tls = peer._transport.get_extra_info("ssl_object")  # noqa: SLF001  (the DER is given nowhere else)
    der = tls.getpeercert(binary_form=True) if tls is not None else None
    return frozenset() if der is None else _roles_in(der)


@functools.lru_cache(maxsize=256)
def _roles_in(der: bytes) -> frozenset[str]:
    certificate = x509.load_der_x509_certificate(der)
    try:
        usages = list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        usages = []
    if usages != [ExtendedKeyUsageOID.CLIENT_AUTH]:
        return frozenset()
    found = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return frozenset(str(attribute.value) for attribute in found)
