"""A node's state as COSI resources."""

from __future__ import annotations

import ipaddress
import textwrap
from typing import TYPE_CHECKING, Any

from talops.lab.talos.machine.stages import Stage
from talops.lab.talos.resources import kinds
from talops.lab.talos.resources.content import followed
from talops.lab.talos.resources.device_views import disks
from talops.lab.talos.resources.kubernetes_views import control_plane, node_status
from talops.lab.talos.resources.network_views import network
from talops.lab.talos.resources.store import Item, built, item
from talops.talos.wire import (
    common_pb2,
    spec_cluster_pb2,
    spec_config_pb2,
    spec_enums_pb2,
    spec_hardware_pb2,
    spec_runtime_pb2,
    spec_time_pb2,
    spec_v1alpha1_pb2,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.lab.talos.config.document import MachineConfig
    from talops.lab.talos.machine.node import Node

_NEW = 14
_INSTALL_PHASES = {Stage.INSTALLING: (1, "installing")}
_INSTALLED = (2, "installed")
_FACTORY = "https://factory.talos.dev"
_MOUNTS = "mnt:[4026531841]"
_TYPES = {
    "init": spec_enums_pb2.TYPE_INIT,
    "controlplane": spec_enums_pb2.TYPE_CONTROL_PLANE,
    "worker": spec_enums_pb2.TYPE_WORKER,
}


def describe(node: Node) -> Iterator[Item]:
    yield from _runtime(node)
    yield from disks(node)
    yield from network(node)
    yield from _hardware(node)
    if node.config is not None and not node.in_maintenance:
        yield from _configured(node, node.config)


def member(node: Node) -> Item:
    """The node as the others of its cluster discover it."""
    assert node.config is not None
    config = node.config
    system = f"Talos ({node.version})"
    spec = spec_cluster_pb2.MemberSpec(
        node_id=_node_id(node),
        addresses=[common_pb2.NetIP(ip=ipaddress.ip_address(a).packed) for a in node.addresses],
        hostname=node.hostname,
        machine_type=_TYPES.get(config.type, spec_enums_pb2.TYPE_WORKER),
        operating_system=system,
    )
    yaml: dict[str, Any] = {
        "nodeId": spec.node_id,
        "addresses": list(node.addresses),
        "hostname": node.hostname,
        "machineType": config.type,
        "operatingSystem": system,
    }
    if config.control_plane:
        spec.control_plane.api_server_port = 6443
        yaml["controlPlane"] = {"port": 6443}
    return item(kinds.MEMBERS, node.hostname, spec, yaml)


def _node_id(node: Node) -> str:
    return node.machine.uuid.replace("-", "")


def _runtime(node: Node) -> Iterator[Item]:
    yield item(kinds.MACHINE_STATUS, "machine", node.status.spec(), node.status.yaml())
    if node.minor >= _NEW:
        yield from _since_1_14(node)
    if node.schematic:
        yield _schematic(node.schematic)
    security = spec_runtime_pb2.SecurityStateSpec(
        secure_boot=node.machine.secureboot, booted_with_uki=node.machine.uefi
    )
    yield item(kinds.SECURITY, "securitystate", security, {"secureBoot": node.machine.secureboot})
    platform = spec_runtime_pb2.PlatformMetadataSpec(
        platform="nocloud", hostname=node.machine.name, instance_id=node.machine.uuid
    )
    yield item(kinds.PLATFORM, "platformmetadata", platform)
    for key, value in node.store.installation().meta.items():
        spec = spec_runtime_pb2.MetaKeySpec(value=value)
        yield item(kinds.META_KEYS, f"0x{int(key):02x}", spec, {"value": value})
    synced = spec_time_pb2.StatusSpec(synced=node.time_in_sync, epoch=1)
    yield item(kinds.TIME_STATUS, "node", synced, {"synced": node.time_in_sync, "epoch": 1})
    for service in node.services.all():
        if service.state == "Running":  # others have no such resource
            state = {
                "running": True,
                "healthy": bool(service.healthy),
                "unknown": service.healthy is None,
            }
            yield item(kinds.SERVICES, service.id, spec_v1alpha1_pb2.ServiceSpec(**state), state)
            process = {"pid": service.pid, "mount_namespace": _MOUNTS}
            yaml = {"pid": service.pid, "mountNamespace": _MOUNTS}
            yield built(kinds.SERVICE_PIDS, service.id, "runtime.ServicePIDSpec", process, yaml)


def _schematic(identifier: str) -> Item:
    """The virtual extension that the Image Factory adds: its version is the schematic's id."""
    metadata = {
        "name": "schematic",
        "version": identifier,
        "author": "Image Factory",
        "description": "Virtual extension which specifies the schematic of the image.",
    }
    fields = {"image": "schematic.sqsh", "metadata": metadata}
    yaml = {"image": "schematic.sqsh", "metadata": {**metadata, "compatibility": {}}}
    return built(kinds.EXTENSIONS, "schematic", "extensions.Layer", fields, yaml)


def _since_1_14(node: Node) -> Iterator[Item]:
    yield item(
        kinds.BOOT_ID,
        "boot-id",
        spec_runtime_pb2.BootIDSpec(boot_id=node.boot_id),
        {"bootID": node.boot_id},
    )
    if node.schematic:
        fields = {"schematic_id": node.schematic, "apiurl": _FACTORY}
        yaml = {"schematicId": node.schematic, "flavor": "", "apiUrl": _FACTORY}
        yield built(
            kinds.SCHEMATIC,
            "image-factory-schematic",
            "runtime.ImageFactorySchematicSpec",
            fields,
            yaml,
        )
    if node.config is not None and node.config.unattended:
        number, phase = _INSTALL_PHASES.get(node.status.stage, _INSTALLED)
        image = str(node.config.install.get("image", ""))
        yield built(
            kinds.UNATTENDED,
            "unattended-install",
            "runtime.UnattendedInstallStatusSpec",
            {"image": image, "phase": number},
            {"image": image, "phase": phase},
        )


def _hardware(node: Node) -> Iterator[Item]:
    machine = node.machine
    system = spec_hardware_pb2.SystemInformationSpec(
        manufacturer="QEMU", product_name="Standard PC (Q35 + ICH9, 2009)", uuid=machine.uuid
    )
    yaml = {"manufacturer": "QEMU", "productName": system.product_name, "uuid": machine.uuid}
    yield item(kinds.SYSTEM, "systeminformation", system, yaml)
    cores = spec_hardware_pb2.ProcessorSpec(core_count=machine.cores, thread_count=machine.cores)
    yield item(kinds.PROCESSORS, "CPU-0", cores, {"coreCount": machine.cores})
    size = machine.memory // 2**20
    memory = spec_hardware_pb2.MemoryModuleSpec(size=size)
    yield item(kinds.MEMORY, "DIMM-0", memory, {"sizeMiB": size})
    for address in machine.pci:
        device = spec_hardware_pb2.PCIDeviceSpec(**{"class": "Display controller"})
        yield item(kinds.PCI, address, device)


def _configured(node: Node, config: MachineConfig) -> Iterator[Item]:
    yield _machine_config("v1alpha1", config.raw)
    persisted = node.store.config() if node.persisted else None
    if persisted is not None:
        yield _machine_config("persistent", persisted)
    role = _TYPES.get(config.type, spec_enums_pb2.TYPE_WORKER)
    type_spec = spec_config_pb2.MachineTypeSpec(
        machine_type=spec_config_pb2.MachineType.Name(int(role))
    )
    yield item(kinds.MACHINE_TYPE, "machine-type", type_spec, config.type)
    yield from followed(node)
    if node.status.stage is Stage.RUNNING:
        yield node_status(node, config)
    if config.discovery and not node.discovers:
        yield member(node)
    if config.control_plane:
        yield from control_plane(node, config)


def _machine_config(name: str, raw: bytes) -> Item:
    """Its YAML is one string, because the documents are not a single value."""
    namespace, kind = kinds.MACHINE_CONFIG
    spec = spec_config_pb2.MachineConfigSpec(yaml_marshalled=raw)
    return Item(
        namespace,
        kind,
        name,
        spec.SerializeToString(),
        lambda: "|\n" + textwrap.indent(raw.decode(), "    "),
        annotations=(("talos.dev/yaml-spec", "1"),),
    )
