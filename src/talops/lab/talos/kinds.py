"""The kinds of resources that a lab node has, with the names and columns that clients look up."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from talops.lab.talos.resources import ResourceStore, item
from talops.talos.wire import cosi_meta_pb2

Kind = tuple[str, str]  # namespace, type

DEFINITIONS: Kind = ("meta", "ResourceDefinitions.meta.cosi.dev")
MEMBERS: Kind = ("cluster", "Members.cluster.talos.dev")
IDENTITY: Kind = ("cluster", "Identities.cluster.talos.dev")
MACHINE_STATUS: Kind = ("runtime", "MachineStatuses.runtime.talos.dev")
VERSION: Kind = ("runtime", "Versions.runtime.talos.dev")
BOOT_ID: Kind = ("runtime", "BootIDs.runtime.talos.dev")
SECURITY: Kind = ("runtime", "SecurityStates.talos.dev")
PLATFORM: Kind = ("runtime", "PlatformMetadatas.talos.dev")
EXTENSIONS: Kind = ("runtime", "ExtensionStatuses.runtime.talos.dev")
META_KEYS: Kind = ("runtime", "MetaKeys.runtime.talos.dev")
DIAGNOSTICS: Kind = ("runtime", "Diagnostics.runtime.talos.dev")
SERVICES: Kind = ("runtime", "Services.v1alpha1.talos.dev")
TIME_STATUS: Kind = ("runtime", "TimeStatuses.v1alpha1.talos.dev")
DISKS: Kind = ("runtime", "Disks.block.talos.dev")
SYSTEM_DISK: Kind = ("runtime", "SystemDisks.block.talos.dev")
VOLUMES: Kind = ("runtime", "VolumeStatuses.block.talos.dev")
LINKS: Kind = ("network", "LinkStatuses.net.talos.dev")
ADDRESSES: Kind = ("network", "AddressStatuses.net.talos.dev")
NODE_ADDRESSES: Kind = ("network", "NodeAddresses.net.talos.dev")
ROUTES: Kind = ("network", "RouteStatuses.net.talos.dev")
HOSTNAME: Kind = ("network", "HostnameStatuses.net.talos.dev")
RESOLVERS: Kind = ("network", "ResolverStatuses.net.talos.dev")
TIME_SERVERS: Kind = ("network", "TimeServerStatuses.net.talos.dev")
NETWORK_STATUS: Kind = ("network", "NetworkStatuses.net.talos.dev")
MACHINE_CONFIG: Kind = ("config", "MachineConfigs.config.talos.dev")
MACHINE_TYPE: Kind = ("config", "MachineTypes.config.talos.dev")
ETCD_MEMBER: Kind = ("etcd", "EtcdMembers.etcd.talos.dev")
NODENAME: Kind = ("k8s", "Nodenames.kubernetes.talos.dev")
NODE_STATUS: Kind = ("k8s", "NodeStatuses.kubernetes.talos.dev")
KUBELET: Kind = ("k8s", "KubeletSpecs.kubernetes.talos.dev")
MANIFESTS: Kind = ("controlplane", "BootstrapManifestsConfigs.kubernetes.talos.dev")
STATIC_PODS: Kind = ("k8s", "StaticPodStatuses.kubernetes.talos.dev")
SYSTEM: Kind = ("hardware", "SystemInformations.hardware.talos.dev")
PROCESSORS: Kind = ("hardware", "Processors.hardware.talos.dev")
MEMORY: Kind = ("hardware", "MemoryModules.hardware.talos.dev")
PCI: Kind = ("hardware", "PCIDevices.hardware.talos.dev")

SENSITIVE = frozenset({MACHINE_CONFIG[1]})


@dataclass(frozen=True)
class Definition:
    """`columns` are name=path pairs, as `talosctl get` prints them."""

    kind: Kind
    display: str
    aliases: tuple[str, ...] = ()
    columns: str = ""


_DEFINITIONS = (
    Definition(DEFINITIONS, "ResourceDefinition", ("api-resources", "rd", "rds")),
    Definition(
        MEMBERS, "Member", (),
        "Hostname={.hostname} Machine Type={.machineType} OS={.operatingSystem}"
        " Addresses={.addresses}",
    ),
    Definition(IDENTITY, "Identity", (), "ID={.nodeId}"),
    Definition(
        MACHINE_STATUS, "MachineStatus", (), "Stage={.stage} Ready={.status.ready}"
    ),
    Definition(VERSION, "Version", (), "Version={.version}"),
    Definition(BOOT_ID, "BootID"),
    Definition(SECURITY, "SecurityState", (), "SecureBoot={.secureBoot}"),
    Definition(PLATFORM, "PlatformMetadata", (), "Platform={.platform} Type={.instanceType}"),
    Definition(EXTENSIONS, "ExtensionStatus", ("extensions",), "Name={.metadata.name}"),
    Definition(META_KEYS, "MetaKey", ("meta",), "Value={.value}"),
    Definition(DIAGNOSTICS, "Diagnostic"),
    Definition(SERVICES, "Service", ("svc",), "Running={.running} Healthy={.healthy}"),
    Definition(TIME_STATUS, "TimeStatus", (), "Synced={.synced}"),
    Definition(
        DISKS, "Disk", (),
        "Size={.pretty_size} Read Only={.readonly} Transport={.transport} Model={.model}"
        " Serial={.serial}",
    ),
    Definition(SYSTEM_DISK, "SystemDisk", (), "Disk={.diskID}"),
    Definition(VOLUMES, "VolumeStatus", (), "Phase={.phase} Location={.location}"),
    Definition(
        LINKS, "LinkStatus", ("link", "links"),
        "Type={.type} Oper State={.operationalState} Link State={.linkState}"
        " Hw Addr={.hardwareAddr} MTU={.mtu}",
    ),
    Definition(
        ADDRESSES, "AddressStatus", ("address", "addresses"), "Address={.address} Link={.linkName}"
    ),
    Definition(NODE_ADDRESSES, "NodeAddress", (), "Addresses={.addresses}"),
    Definition(ROUTES, "RouteStatus", ("route", "routes"), "Gateway={.gateway}"),
    Definition(HOSTNAME, "HostnameStatus", ("hostname",), "Hostname={.hostname}"),
    Definition(RESOLVERS, "ResolverStatus", ("resolvers",), "Resolvers={.dnsServers}"),
    Definition(TIME_SERVERS, "TimeServerStatus", ("timeserver",), "Timeservers={.timeServers}"),
    Definition(NETWORK_STATUS, "NetworkStatus", ("netstatus",)),
    Definition(MACHINE_CONFIG, "MachineConfig", ("mc",)),
    Definition(MACHINE_TYPE, "MachineType", (), "Type={}"),
    Definition(ETCD_MEMBER, "EtcdMember", (), "Member ID={.memberID}"),
    Definition(NODENAME, "Nodename", (), "Nodename={.nodename}"),
    Definition(NODE_STATUS, "NodeStatus", (), "Ready={.nodeReady} Unschedulable={.unschedulable}"),
    Definition(KUBELET, "KubeletSpec"),
    Definition(MANIFESTS, "BootstrapManifestsConfig"),
    Definition(STATIC_PODS, "StaticPodStatus"),
    Definition(SYSTEM, "SystemInformation", (), "Manufacturer={.manufacturer} UUID={.uuid}"),
    Definition(PROCESSORS, "Processor", ("cpus", "cpu"), "Cores={.coreCount}"),
    Definition(MEMORY, "MemoryModule", ("memorymodules", "ram"), "Size={.sizeMiB}"),
    Definition(PCI, "PCIDevice", ("devices", "device")),
)  # fmt: skip


@functools.cache
def definitions() -> ResourceStore:
    """The same for every node: the look-up that comes before each `get`."""
    store = ResourceStore()
    for definition in _DEFINITIONS:
        spec = _spec(definition)
        columns = [{"name": c.name, "jsonPath": c.json_path} for c in spec.print_columns]
        yaml = {
            "type": spec.resource_type,
            "displayType": spec.display_type,
            "aliases": list(spec.all_aliases),
            "defaultNamespace": spec.default_namespace,
            "printColumns": columns,
            "sensitivity": "sensitive" if spec.sensitivity else "",
        }
        store.put(item(DEFINITIONS, spec.resource_type.lower(), spec, yaml))
    return store


def _spec(definition: Definition) -> cosi_meta_pb2.ResourceDefinitionSpec:
    kind = cosi_meta_pb2.ResourceDefinitionSpec
    namespace, name = definition.kind
    parts = name.lower().split(".")
    dotted = [".".join(parts[: n + 1]) for n in range(len(parts))]
    display = definition.display.lower()
    every = dict.fromkeys([*definition.aliases, display, f"{display}s", *dotted[:-1]])
    columns = [text.split("=", 1) for text in _split_columns(definition.columns)]
    return kind(
        resource_type=name,
        display_type=definition.display,
        default_namespace=namespace,
        aliases=definition.aliases,
        all_aliases=list(every),
        print_columns=[kind.PrintColumn(name=n, json_path=path) for n, path in columns],
        sensitivity=kind.SENSITIVE if name in SENSITIVE else kind.NON_SENSITIVE,
    )


def _split_columns(text: str) -> list[str]:
    """Names may hold blanks, paths end with a brace."""
    return [f"{part.strip()}}}" for part in text.split("}") if part.strip()]
