"""A node's state as COSI resources."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from talops.lab.talos import kinds
from talops.lab.talos.decoding import to_yaml
from talops.lab.talos.device_views import disks, network
from talops.lab.talos.resources import Item, item
from talops.lab.talos.stages import Stage
from talops.talos.wire import (
    common_pb2,
    spec_cluster_pb2,
    spec_config_pb2,
    spec_enums_pb2,
    spec_etcd_pb2,
    spec_hardware_pb2,
    spec_k8s_pb2,
    spec_runtime_pb2,
    spec_time_pb2,
    spec_v1alpha1_pb2,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.lab.talos.config import MachineConfig
    from talops.lab.talos.node import Node

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
    if node.config is not None:
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
    version = spec_runtime_pb2.VersionSpec(version=node.version, name="Talos")
    yield item(kinds.VERSION, "version", version, {"version": node.version})
    yield item(kinds.BOOT_ID, "boot-id", spec_runtime_pb2.BootIDSpec(boot_id=node.boot_id))
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
        state = {
            "running": service.state == "Running",
            "healthy": bool(service.healthy),
            "unknown": service.healthy is None,
        }
        yield item(kinds.SERVICES, service.id, spec_v1alpha1_pb2.ServiceSpec(**state), state)


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
    raw = config.raw
    namespace, kind = kinds.MACHINE_CONFIG
    spec = spec_config_pb2.MachineConfigSpec(yaml_marshalled=raw)
    yield Item(namespace, kind, "v1alpha1", spec.SerializeToString(), raw.decode)
    role = _TYPES.get(config.type, spec_enums_pb2.TYPE_WORKER)
    type_spec = spec_config_pb2.MachineTypeSpec(
        machine_type=spec_config_pb2.MachineType.Name(int(role))
    )
    yield item(kinds.MACHINE_TYPE, "machine-type", type_spec, config.type)
    identity = spec_cluster_pb2.IdentitySpec(node_id=_node_id(node))
    yield item(kinds.IDENTITY, "local", identity, {"nodeId": _node_id(node)})
    name = spec_k8s_pb2.NodenameSpec(nodename=node.hostname)
    yield item(kinds.NODENAME, "nodename", name, {"nodename": node.hostname})
    image = str((config.machine.get("kubelet") or {}).get("image", ""))
    kubelet = spec_k8s_pb2.KubeletSpecSpec(image=image, expected_nodename=node.hostname)
    yield item(kinds.KUBELET, "kubelet", kubelet, {"image": image})
    if node.status.stage is Stage.RUNNING:
        ready = node.registration.ready
        status = spec_k8s_pb2.NodeStatusSpec(nodename=node.hostname, node_ready=ready)
        yaml = {"nodename": node.hostname, "nodeReady": ready, "unschedulable": False}
        yield item(kinds.NODE_STATUS, node.hostname, status, yaml)
    if config.discovery and not node.discovers:
        yield member(node)
    if config.control_plane:
        yield from _control_plane(node, config)


def _control_plane(node: Node, config: MachineConfig) -> Iterator[Item]:
    yield _manifests(config)
    identifier = node.control_plane.member_id
    if identifier:
        text = f"{identifier:016x}"
        spec = spec_etcd_pb2.MemberSpec(member_id=text)
        yield item(kinds.ETCD_MEMBER, "local", spec, {"memberID": text})
    for component in config.static_pod_images() if node.control_plane.api_ready else ():
        pod = spec_k8s_pb2.StaticPodStatusSpec()
        condition = {"type": "Ready", "status": "True"}
        status: dict[str, Any] = {"phase": "Running", "conditions": [condition]}
        pod.pod_status.update(status)
        yield item(kinds.STATIC_PODS, f"kube-system/{component}-{node.hostname}", pod, status)


def _manifests(config: MachineConfig) -> Item:
    """Health checks read only the CNI's name from it: field 21, written here by hand."""
    cni = (config.cluster.get("network") or {}).get("cni") or {}
    name = str(cni.get("name", "flannel"))
    encoded = b"\xaa\x01" + bytes([len(name)]) + name.encode()
    namespace, kind = kinds.MANIFESTS
    return Item(namespace, kind, "manifests", encoded, lambda: to_yaml({"cniName": name}))
