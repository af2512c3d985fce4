"""The resolved inventory: defaults filled in, fallbacks applied, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Address, IPv4Network

    from talops.inventory.locate import Locator
    from talops.inventory.operating import Backup, Gate, Maintenance, Timeouts
    from talops.inventory.sections import (
        Addons,
        DiskSelector,
        Hypervisors,
        LegacyVm,
        Release,
        VmAdvanced,
    )
    from talops.redaction import Secret


@dataclass(frozen=True)
class Network:
    """The network of the nodes. `proxmox_tags`: the hypervisor tags the VLAN, not Talos."""

    cidr: IPv4Network
    gateway: IPv4Address
    dns: tuple[IPv4Address, ...]
    ntp: tuple[str, ...]
    vlan: int | None
    proxmox_tags: bool
    static_boot: bool


@dataclass(frozen=True)
class Repository:
    """`url` with https or ssh; `credentials` is deploy-key, token or nothing."""

    name: str
    branch: str
    private: bool
    url: str
    path: str
    install: str  # manifest, cli, operator
    credentials: str | None
    ca_file: str | None
    known_hosts: str | None
    interval: str


@dataclass(frozen=True)
class State:
    """Where OpenTofu stores its state; addresses are passed in the environment."""

    kind: str  # local, http, s3
    url: str | None
    bucket: str | None
    region: str | None
    endpoint: str | None
    prefix: str
    backups: int
    backup_days: int
    ca_file: str | None


@dataclass(frozen=True)
class Cni:
    name: str
    kube_proxy: bool
    values: str | None


@dataclass(frozen=True)
class NasDataset:
    """`name` includes the pool; `quota` in bytes. Properties that are not set stay unchanged."""

    name: str
    quota: int | None
    properties: Mapping[str, str]


@dataclass(frozen=True)
class TrueNas:
    url: str
    pool: str
    datasets: tuple[NasDataset, ...]
    username: str | None
    insecure: bool
    ca_file: str | None
    secret_namespace: str


@dataclass(frozen=True)
class Template:
    name: str
    vm_id: int


@dataclass(frozen=True)
class Proxmox:
    """Absent on bare metal."""

    api_url: str
    node: str
    hosts: tuple[str, ...]
    insecure: bool
    ca_file: str | None
    iso_storage: str
    disk_storage: str
    advanced: VmAdvanced
    boot: str  # iso, image, template
    template: Template | None


@dataclass(frozen=True)
class Vm:
    """The VM that OpenTofu creates for a node; absent on bare metal."""

    host: str
    vm_id: int | None
    cores: int
    sockets: int
    memory: int  # MiB
    disk_size: int  # GiB
    startup_order: int
    startup_delay: int
    shutdown_delay: int
    pool: str | None
    tpm: bool


@dataclass(frozen=True)
class Image:
    """The Talos image that a node boots and installs."""

    schematic: str
    secureboot: bool
    platform: str  # nocloud, metal
    owner: str  # the cluster, so that two clusters on one host never share or destroy a file

    def file_name(self, version: str, kind: str) -> str:
        """The file name on a Proxmox storage; contains everything that distinguishes the image."""
        suffix = "-secureboot" if self.secureboot else ""
        made_of = f"{version}-{self.schematic[:12]}-{self.platform}-amd64{suffix}"
        return f"{self.owner}-talos-{made_of}.{kind}"

    def path(self, version: str, kind: str) -> str:
        """The path on the Image Factory."""
        suffix = "-secureboot" if self.secureboot else ""
        return f"image/{self.schematic}/{version}/{self.platform}-amd64{suffix}.{kind}"


@dataclass(frozen=True)
class Node:
    name: str
    address: IPv4Address
    controller: bool
    mac: str
    disk: str | DiskSelector
    image: Image
    extensions: tuple[str, ...] | None  # None: an explicit schematic, contents unknown
    mtu: int | None
    encrypt_disk: bool
    kernel_modules: tuple[str, ...]
    gpus: tuple[str, ...]
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    patches: tuple[str | dict[str, Any], ...]
    vm: Vm | None
    index: int = field(compare=False)  # position in nodes.yaml
    uuid: str | None = None
    fingerprint: str | None = None
    protected: bool = False

    @property
    def role(self) -> str:
        return "controlplane" if self.controller else "worker"


@dataclass(frozen=True)
class Cluster:
    name: str
    talos_version: str
    kubernetes_version: str
    talos_contract: str
    network: Network
    vip: IPv4Address | None
    tls_sans: tuple[str, ...]
    pod_cidr: IPv4Network
    svc_cidr: IPv4Network
    schedule_on_control_planes: bool
    registry_mirrors: Mapping[str, tuple[str, ...]]
    patches: tuple[str | dict[str, Any], ...]
    controller_patches: tuple[str | dict[str, Any], ...]
    worker_patches: tuple[str | dict[str, Any], ...]
    repository: Repository | None
    image_factory_url: str
    image_factory_ca_file: str | None
    proxmox: Proxmox | None
    nodes: tuple[Node, ...]
    state: State
    cni: Cni
    addons: Addons
    hypervisors: Hypervisors | None
    legacy: tuple[LegacyVm, ...]
    truenas: TrueNas | None
    releases: Mapping[str, Release]
    maintenance: Maintenance | None
    gates: tuple[Gate, ...]
    timeouts: Timeouts
    backup: Backup
    upgrades: str  # talops, tuppr
    credentials: Mapping[str, Secret] = field(compare=False)
    at: Locator = field(compare=False, repr=False)

    @property
    def control_planes(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.controller)

    @property
    def workers(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if not node.controller)

    @property
    def endpoint_host(self) -> IPv4Address:
        """The address of the Kubernetes API: the VIP, or the only control plane."""
        return self.vip or self.control_planes[0].address

    @property
    def endpoint(self) -> str:
        return f"https://{self.endpoint_host}:6443"

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes)

    def where(self, node: Node, *key: str) -> str:
        """file:line:column of a node's key, for messages."""
        return str(self.at.node_value(node.index, *key))
