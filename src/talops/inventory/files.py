"""The two files as written: every key is optional here, so that one error hides no other."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from talops.inventory.fields import (
    Address,
    Count,
    DnsLabel,
    Fingerprint,
    Gibibytes,
    Gpu,
    HostName,
    Integer,
    Mac,
    Mebibytes,
    Mtu,
    Network,
    Schematic,
    Seconds,
    StorageName,
    Taint,
    Text,
    Url,
    Uuid,
    Version,
    VlanTag,
    VmId,
)
from talops.inventory.operating import Backup, Gate, Maintenance, Timeouts
from talops.inventory.sections import (
    Addons,
    Cni,
    DiskSelector,
    GitOps,
    Hypervisors,
    LegacyVm,
    Release,
    Section,
    State,
    TrueNas,
    VmAdvanced,
    VmSize,
)

CREDENTIALS = (
    "proxmox_api_token_id",
    "proxmox_api_token_secret",
    "tfstate_username",
    "tfstate_password",
    "cf_account_id",
    "state_encryption_passphrase",
    "truenas_api_key",
)
REQUIRED_CLUSTER = ("cluster_name", "talos_version", "kubernetes_version", "node_cidr")
REQUIRED_NODE = ("name", "address", "controller")

Patch = Text | dict[str, Any]


class ClusterFile(Section):
    """cluster.yaml"""

    cluster_name: DnsLabel | None = Field(None, description="Name of the cluster.")
    talos_version: Version | None = Field(None, description="Talos release, like v1.14.1.")
    kubernetes_version: Version | None = Field(None, description="Kubernetes release.")
    talos_contract: Text | None = Field(
        None, description="Config contract, like v1.14; default: pinned when secrets are created."
    )
    node_cidr: Network | None = Field(None, description="Network of the nodes.")
    node_default_gateway: Address | None = Field(
        None, description="Default gateway; default: the first host of node_cidr."
    )
    node_dns_servers: list[Address] | None = Field(None, description="DNS servers.")
    node_ntp_servers: list[Text] | None = Field(None, description="Time servers.")
    node_vlan_tag: VlanTag | None = Field(None, description="VLAN of the nodes.")
    proxmox_vlan_mode: bool | None = Field(
        None, description="true: Proxmox tags the VLAN; false: Talos creates the VLAN link."
    )
    cluster_api_addr: Address | None = Field(None, description="The VIP of the Kubernetes API.")
    cluster_api_tls_sans: list[Text] | None = Field(
        None, description="Additional names in the API certificate."
    )
    cluster_pod_cidr: Network | None = Field(
        None, description="Pod network (default: 10.42.0.0/16)."
    )
    cluster_svc_cidr: Network | None = Field(
        None, description="Service network (default: 10.43.0.0/16)."
    )
    repository_name: Text | None = Field(None, description="owner/name of the Git repository.")
    repository_branch: Text | None = Field(None, description="Branch (default: main).")
    repository_visibility: Literal["public", "private"] | None = Field(
        None, description="public or private; private requires credentials for Flux."
    )
    gitops: GitOps | None = Field(
        None, description="Repository, credentials and installation of Flux."
    )
    releases: dict[str, Release] | None = Field(
        None, description="Charts and manifests by name that replace the pinned ones."
    )
    proxmox_api_url: Url | None = Field(None, description="Proxmox API, https://host:8006.")
    proxmox_node: HostName | None = Field(None, description="Proxmox node for the VMs.")
    proxmox_insecure: bool | None = Field(None, description="Do not verify the certificate.")
    proxmox_ca_file: Text | None = Field(None, description="CA of the Proxmox certificate.")
    proxmox_iso_storage: StorageName | None = Field(
        None, description="Storage for ISOs (default: local)."
    )
    proxmox_disk_storage: StorageName | None = Field(
        None, description="Storage for disks (default: local-lvm)."
    )
    proxmox_vm_defaults: VmSize | None = Field(None, description="Size of every VM.")
    proxmox_vm_controller_defaults: VmSize | None = Field(
        None, description="Size of control planes."
    )
    proxmox_vm_worker_defaults: VmSize | None = Field(None, description="Size of workers.")
    proxmox_vm_advanced: VmAdvanced | None = Field(None, description="Hardware of every VM.")
    boot: Literal["iso", "image", "template"] | None = Field(None, description="How VMs boot.")
    boot_network: Literal["static", "dhcp"] | None = Field(
        None, description="static: address from the nocloud drive; dhcp: address by MAC."
    )
    template_name: Text | None = Field(None, description="talos-v<version>-base.")
    template_vm_id: VmId | None = Field(None, description="VMID of the template.")
    image_factory_url: Url | None = Field(
        None, description="Image Factory (default: https://factory.talos.dev)."
    )
    image_factory_ca_file: Text | None = Field(None, description="CA of a private Image Factory.")
    extensions: list[Text] | None = Field(None, description="System extensions of every node.")
    pool: Text | None = Field(None, description="Proxmox pool of the VMs.")
    patches: list[Patch] | None = Field(None, description="Machine config patches, all nodes.")
    controller_patches: list[Patch] | None = Field(
        None, description="Machine config patches, control planes."
    )
    worker_patches: list[Patch] | None = Field(None, description="… workers.")
    registry_mirrors: dict[str, list[Text]] | None = Field(None, description="Mirrors by registry.")
    allow_scheduling_on_control_planes: bool | None = Field(
        None, description="Schedule workloads on control planes; default: true without workers."
    )
    state: State | None = Field(None, description="Where OpenTofu keeps its state.")
    hypervisors: Hypervisors | None = Field(None, description="Layer 01.")
    legacy: list[LegacyVm] | None = Field(None, description="Layer 03.")
    truenas: TrueNas | None = Field(None, description="Datasets for CSI.")
    addons: Addons | None = Field(None, description="Add-ons applied before Flux.")
    cni: Cni | None = Field(None, description="Network plugin.")
    maintenance: Maintenance | None = Field(
        None, description="When nodes may be taken out of service; default: at any time."
    )
    gates: list[Gate] | None = Field(
        None, description="Conditions before, between and after nodes that are changed."
    )
    x_ignore: list[Text] | None = Field(
        None, description="Patterns of keys for other programs, like my_*; talops ignores them."
    )
    timeouts: Timeouts | None = Field(None, description="How long talops waits.")
    backup: Backup | None = Field(
        None, description="Where backups of etcd are kept, and how old they may be."
    )
    upgrades: Literal["talops", "tuppr"] | None = Field(
        None, description="Who upgrades Talos and Kubernetes; default: talops."
    )
    proxmox_api_token_id: Text | None = Field(None, description="user@realm!token (secret).")
    proxmox_api_token_secret: Text | None = Field(
        None, description="Value of the API token (secret)."
    )
    tfstate_username: Text | None = Field(None, description="State server user (secret).")
    tfstate_password: Text | None = Field(None, description="State server password (secret).")
    cf_account_id: Text | None = Field(None, description="Cloudflare account, for R2 (secret).")
    state_encryption_passphrase: Text | None = Field(
        None, description="Client-side state encryption (secret)."
    )
    truenas_api_key: Text | None = Field(None, description="API key of the TrueNAS (secret).")


class NodeFile(Section):
    """One entry of nodes.yaml."""

    name: DnsLabel | None = Field(None, description="Host name.")
    address: Address | None = Field(None, description="Address in node_cidr.")
    controller: bool | None = Field(None, description="true: control plane; false: worker.")
    disk: Text | DiskSelector | None = Field(
        None, description="Install disk: a path, a serial number, or a selector."
    )
    mac_addr: Mac | None = Field(None, description="MAC address of the node's NIC.")
    schematic_id: Schematic | None = Field(None, description="Image Factory schematic.")
    extensions: list[Text] | None = Field(None, description="Additional extensions for this node.")
    mtu: Mtu | None = Field(None, description="MTU.")
    secureboot: bool | None = Field(None, description="Boot with SecureBoot.")
    encrypt_disk: bool | None = Field(
        None,
        description="Encrypt the system volumes: with a key in the TPM if `secureboot` is set, "
        "otherwise with a key derived from the node's id (protects a discarded disk, "
        "not a stolen machine).",
    )
    kernel_modules: list[Text] | None = Field(None, description="Kernel modules to load.")
    host: HostName | None = Field(None, description="Proxmox node; default: proxmox_node.")
    pool: Text | None = Field(None, description="Proxmox pool.")
    gpus: list[Gpu] | None = Field(None, description="PCI addresses or mapping names.")
    labels: dict[str, Text] | None = Field(None, description="Kubernetes labels.")
    taints: list[Taint] | None = Field(None, description="Kubernetes taints, key=value:Effect.")
    patches: list[Patch] | None = Field(None, description="Machine config patches.")
    uuid: Uuid | None = Field(
        None, description="System UUID of the machine; without a VM it proves which machine it is."
    )
    fingerprint: Fingerprint | None = Field(
        None, description="Key of the node in maintenance mode, as its console shows it."
    )
    protected: bool | None = Field(
        None, description="true: no command destroys, replaces or resets this node."
    )
    vm_id: VmId | None = Field(None, description="VMID.")
    vm_cores: Count | None = Field(None, description="Cores per socket.")
    vm_sockets: Count | None = Field(None, description="CPU sockets.")
    vm_memory: Mebibytes | None = Field(None, description="Memory in MiB.")
    vm_disk_size: Gibibytes | None = Field(None, description="System disk in GiB.")
    vm_startup_order: Annotated[Integer, Field(ge=0)] | None = Field(
        None, description="Start order."
    )
    vm_startup_delay: Seconds | None = Field(
        None, description="Seconds to wait before the next VM starts."
    )
    vm_shutdown_delay: Seconds | None = Field(None, description="Shutdown timeout in seconds.")
