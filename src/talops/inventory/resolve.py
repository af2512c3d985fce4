"""Typed files → Cluster: defaults, the fallback node → role → global, derived values."""

from __future__ import annotations

import hashlib
from ipaddress import IPv4Address, IPv4Network
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from talops.inventory.files import CREDENTIALS
from talops.inventory.model import (
    Cluster,
    Cni,
    Image,
    NasDataset,
    Network,
    Node,
    Proxmox,
    Repository,
    State,
    Template,
    TrueNas,
    Vm,
)
from talops.inventory.operating import Backup, Timeouts
from talops.inventory.schematics import schematic_id
from talops.inventory.sections import (
    Addons,
    CniSettings,
    GitOps,
    StateSettings,
    TrueNasDataset,
    VmAdvanced,
    VmSize,
)
from talops.inventory.support import default_contract
from talops.redaction import Secret

if TYPE_CHECKING:
    from talops.inventory.files import ClusterFile, NodeFile
    from talops.inventory.parse import Inventory

POD_CIDR = IPv4Network("10.42.0.0/16")
SVC_CIDR = IPv4Network("10.43.0.0/16")
DNS = (IPv4Address("1.1.1.1"), IPv4Address("1.0.0.1"))
NTP = ("162.159.200.1", "162.159.200.123")
FACTORY = "https://factory.talos.dev"
VM_SIZE = VmSize(cores=4, sockets=1, memory=8192, disk_size=128)
STARTUP_ORDER = {True: 1, False: 2}
STARTUP_DELAY = 15
SHUTDOWN_DELAY = 60
CSI_DATASETS = ("volumes", "snapshots")
GIB = 1024**3


def on_proxmox(file: ClusterFile) -> bool:
    """Without both keys the cluster is bare metal."""
    return file.proxmox_api_url is not None and file.proxmox_node is not None


def gateway(file: ClusterFile) -> IPv4Address | None:
    if file.node_default_gateway or file.node_cidr is None:
        return file.node_default_gateway
    return file.node_cidr.network_address + 1


def hosts(file: ClusterFile) -> tuple[str, ...]:
    """The Proxmox nodes in the inventory, proxmox_node first."""
    listed = [node.name for node in file.hypervisors.nodes] if file.hypervisors else []
    return tuple(dict.fromkeys([*([file.proxmox_node] if file.proxmox_node else []), *listed]))


def vm_size(file: ClusterFile, node: NodeFile) -> VmSize:
    """Node → role → global, for each key separately."""
    role = (
        file.proxmox_vm_controller_defaults if node.controller else file.proxmox_vm_worker_defaults
    )
    own = VmSize(
        cores=node.vm_cores,
        sockets=node.vm_sockets,
        memory=node.vm_memory,
        disk_size=node.vm_disk_size,
    )
    layers = [own, role, file.proxmox_vm_defaults, VM_SIZE]
    return VmSize(**{key: _first(layers, key) for key in VmSize.model_fields})


def _first(layers: list[VmSize | None], key: str) -> Any:
    return next(value for layer in layers if layer and (value := getattr(layer, key)) is not None)


def derived_mac(cluster_name: str, node_name: str) -> str:
    """The MAC of a VM without `mac_addr`: the same on every run, in the range of Proxmox."""
    digest = hashlib.sha256(f"{cluster_name}/{node_name}".encode()).hexdigest().upper()
    return f"BC:24:11:{digest[0:2]}:{digest[2:4]}:{digest[4:6]}"


def extensions(file: ClusterFile, node: NodeFile) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*(file.extensions or []), *(node.extensions or [])]))


def resolve(inventory: Inventory) -> Cluster:
    """Only for an inventory without errors, so that required values exist."""
    file = inventory.cluster
    assert file.cluster_name
    assert file.talos_version
    assert file.kubernetes_version
    nodes = tuple(_node(file, node, index) for index, node in enumerate(inventory.nodes))
    workers = any(not node.controller for node in nodes)
    spread = file.allow_scheduling_on_control_planes
    return Cluster(
        name=file.cluster_name,
        talos_version=file.talos_version,
        kubernetes_version=file.kubernetes_version,
        talos_contract=file.talos_contract or default_contract(file.talos_version),
        network=_network(file),
        vip=file.cluster_api_addr,
        tls_sans=tuple(file.cluster_api_tls_sans or ()),
        pod_cidr=file.cluster_pod_cidr or POD_CIDR,
        svc_cidr=file.cluster_svc_cidr or SVC_CIDR,
        schedule_on_control_planes=not workers if spread is None else spread,
        registry_mirrors=MappingProxyType(
            {key: tuple(value) for key, value in (file.registry_mirrors or {}).items()}
        ),
        patches=tuple(file.patches or ()),
        controller_patches=tuple(file.controller_patches or ()),
        worker_patches=tuple(file.worker_patches or ()),
        repository=_repository(file),
        image_factory_url=file.image_factory_url or FACTORY,
        image_factory_ca_file=file.image_factory_ca_file,
        proxmox=_proxmox(file),
        nodes=nodes,
        state=_state(file),
        cni=_cni(file),
        addons=file.addons or Addons(),
        hypervisors=file.hypervisors,
        legacy=tuple(file.legacy or ()),
        truenas=_truenas(file),
        releases=MappingProxyType(dict(file.releases or {})),
        maintenance=file.maintenance,
        gates=tuple(file.gates or ()),
        timeouts=file.timeouts or Timeouts(),
        backup=file.backup or Backup(),
        upgrades=file.upgrades or "talops",
        credentials=MappingProxyType(
            {key: Secret(value) for key in CREDENTIALS if (value := getattr(file, key))}
        ),
        at=inventory.at,
    )


def _truenas(file: ClusterFile) -> TrueNas | None:
    given = file.truenas
    if given is None:
        return None
    assert file.cluster_name
    listed = given.datasets
    if listed is None:
        # A CSI driver needs a dataset for volumes and one for detached snapshots.
        listed = [TrueNasDataset(name=f"{file.cluster_name}/{kind}") for kind in CSI_DATASETS]
    return TrueNas(
        url=given.url,
        pool=given.pool,
        datasets=tuple(
            NasDataset(
                name=f"{given.pool}/{dataset.name}",
                quota=dataset.quota * GIB if dataset.quota else None,
                properties=MappingProxyType(dict(dataset.properties)),
            )
            for dataset in listed
        ),
        username=given.username,
        insecure=given.insecure,
        ca_file=given.ca_file,
        secret_namespace=given.secret_namespace,
    )


def _network(file: ClusterFile) -> Network:
    assert file.node_cidr
    default = gateway(file)
    assert default
    return Network(
        cidr=file.node_cidr,
        gateway=default,
        dns=tuple(file.node_dns_servers or DNS),
        ntp=tuple(file.node_ntp_servers or NTP),
        vlan=file.node_vlan_tag,
        proxmox_tags=bool(file.proxmox_vlan_mode),
        static_boot=file.boot_network != "dhcp",
    )


def _repository(file: ClusterFile) -> Repository | None:
    name = file.repository_name
    if name is None:
        return None
    given = file.gitops or GitOps()
    private = file.repository_visibility == "private"
    by_key = given.credentials == "deploy-key" or (private and given.credentials is None)
    url = given.url or (f"ssh://git@github.com/{name}.git" if by_key else _on_github(name))
    credentials = "deploy-key" if url.startswith("ssh://") else given.credentials
    return Repository(
        name=name,
        branch=file.repository_branch or "main",
        private=private,
        url=url,
        path=given.path.strip("/").removeprefix("./"),
        install=given.install,
        credentials=credentials or ("token" if private else None),
        ca_file=given.ca_file,
        known_hosts=given.known_hosts,
        interval=given.interval,
    )


def _on_github(name: str) -> str:
    return f"https://github.com/{name}.git"


def _state(file: ClusterFile) -> State:
    given = file.state or StateSettings()
    return State(
        kind=given.type,
        url=given.url,
        bucket=given.bucket,
        region=given.region,
        endpoint=given.endpoint,
        prefix=given.prefix or file.cluster_name or "",
        backups=given.backups,
        backup_days=given.backup_days,
        ca_file=given.ca_file,
    )


def _cni(file: ClusterFile) -> Cni:
    given = file.cni or CniSettings()
    return Cni(given.name, given.kube_proxy, given.values)


def _proxmox(file: ClusterFile) -> Proxmox | None:
    if not on_proxmox(file):
        return None
    assert file.proxmox_api_url
    assert file.proxmox_node
    template = None
    if file.boot == "template":
        assert file.template_vm_id
        name = file.template_name or f"talos-{file.talos_version}-base"
        template = Template(name, file.template_vm_id)
    return Proxmox(
        api_url=file.proxmox_api_url,
        node=file.proxmox_node,
        hosts=hosts(file),
        insecure=bool(file.proxmox_insecure),
        ca_file=file.proxmox_ca_file,
        iso_storage=file.proxmox_iso_storage or "local",
        disk_storage=file.proxmox_disk_storage or "local-lvm",
        advanced=file.proxmox_vm_advanced or VmAdvanced(),
        boot=file.boot or "iso",
        template=template,
    )


def _node(file: ClusterFile, node: NodeFile, index: int) -> Node:
    assert node.name
    assert node.address
    assert node.controller is not None
    assert file.cluster_name
    carried = extensions(file, node)
    nocloud = on_proxmox(file) and file.boot_network != "dhcp"
    return Node(
        name=node.name,
        address=node.address,
        controller=node.controller,
        mac=node.mac_addr or derived_mac(file.cluster_name, node.name),
        disk=node.disk or "/dev/sda",
        image=Image(
            schematic=node.schematic_id or schematic_id(carried),
            secureboot=bool(node.secureboot),
            platform="nocloud" if nocloud else "metal",
            owner=file.cluster_name,
        ),
        extensions=None if node.schematic_id else carried,
        mtu=node.mtu,
        encrypt_disk=bool(node.encrypt_disk),
        kernel_modules=tuple(node.kernel_modules or ()),
        gpus=tuple(node.gpus or ()),
        labels=MappingProxyType(dict(node.labels or {})),
        taints=tuple(node.taints or ()),
        patches=tuple(node.patches or ()),
        vm=_vm(file, node) if on_proxmox(file) else None,
        index=index,
        uuid=node.uuid,
        fingerprint=node.fingerprint,
        protected=bool(node.protected),
    )


def _vm(file: ClusterFile, node: NodeFile) -> Vm:
    size = vm_size(file, node)
    assert file.proxmox_node
    return Vm(
        host=node.host or file.proxmox_node,
        vm_id=node.vm_id,
        cores=size.cores or 0,
        sockets=size.sockets or 0,
        memory=size.memory or 0,
        disk_size=size.disk_size or 0,
        startup_order=_or(node.vm_startup_order, STARTUP_ORDER[bool(node.controller)]),
        startup_delay=_or(node.vm_startup_delay, STARTUP_DELAY),
        shutdown_delay=_or(node.vm_shutdown_delay, SHUTDOWN_DELAY),
        pool=node.pool or file.pool,
        tpm=bool(node.secureboot or node.encrypt_disk),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value
