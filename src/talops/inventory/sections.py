"""The nested parts of cluster.yaml, as written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from talops.inventory.fields import (
    Address,
    Count,
    DnsLabel,
    Endpoint,
    Gibibytes,
    GitUrl,
    Gpu,
    HostName,
    Integer,
    Mac,
    Mebibytes,
    Mtu,
    PoolName,
    Prose,
    RoleName,
    Seconds,
    Sha256,
    StorageName,
    Text,
    TokenName,
    Url,
    UserName,
    VlanTag,
    VmId,
)


class Section(BaseModel):
    """Unknown keys are errors, strings are never converted to numbers, values are frozen."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class VmSize(Section):
    cores: Count | None = Field(None, description="Cores per socket.")
    sockets: Count | None = Field(None, description="CPU sockets.")
    memory: Mebibytes | None = Field(None, description="Memory in MiB.")
    disk_size: Gibibytes | None = Field(None, description="Size of the system disk in GiB.")


class VmAdvanced(Section):
    bios: Literal["ovmf", "seabios"] = Field("ovmf", description="Firmware; ovmf is UEFI.")
    machine: Text = Field("q35", description="QEMU machine type.")
    cpu_type: Text = Field("host", description="CPU type that the guest sees.")
    scsi_hw: Literal[
        "virtio-scsi-pci", "virtio-scsi-single", "lsi", "lsi53c810", "megasas", "pvscsi"
    ] = Field("virtio-scsi-pci", description="SCSI controller.")
    balloon: Annotated[Integer, Field(ge=0)] = Field(0, description="Balloon in MiB; 0 = off.")
    numa: bool = Field(True, description="NUMA topology for the guest.")
    qemu_agent: bool = Field(
        False,
        description="QEMU guest agent; only with the siderolabs/qemu-guest-agent extension.",
    )
    net_queues: Annotated[Integer, Field(ge=0, le=64)] = Field(
        4, description="Virtio queues; 0 = one queue."
    )
    disk_discard: bool = Field(True, description="Pass TRIM to the storage.")
    disk_ssd: bool = Field(True, description="Present the disk as an SSD.")
    disk_backup: bool = Field(True, description="Include the disk in backup jobs of Proxmox.")
    disk_replicate: bool = Field(True, description="Include the disk in replication of Proxmox.")
    ostype: Literal["l26", "l24", "other"] = Field("l26", description="OS type of the VMs.")
    network_bridge: Text = Field("vmbr0", description="Bridge that the VMs are attached to.")
    tags: list[Text] = Field(
        default_factory=lambda: ["kubernetes", "linux", "talos"], description="Tags of the VMs."
    )


def _short_state(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


class StateSettings(Section):
    type: Literal["local", "http", "s3"] = Field("local", description="Type of the state backend.")
    url: Url | None = Field(None, description="http: address of the state server and project.")
    bucket: Text | None = Field(None, description="s3: bucket.")
    region: Text | None = Field(None, description="s3: region; auto for R2.")
    endpoint: Endpoint | None = Field(None, description="s3: endpoint of MinIO, R2, Garage …")
    prefix: Text | None = Field(None, description="s3: key prefix; default: the cluster name.")
    backups: Annotated[Integer, Field(ge=0)] = Field(
        30, description="local: number of backups to keep."
    )
    backup_days: Annotated[Integer, Field(ge=1)] = Field(
        90, description="local: days to keep backups."
    )
    ca_file: Text | None = Field(None, description="CA that signed the server's certificate.")


State = Annotated[
    StateSettings,
    BeforeValidator(_short_state, json_schema_input_type=str | StateSettings),
]


def _short_cni(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class CniSettings(Section):
    name: Literal["flannel", "cilium", "none"] = Field("flannel", description="Network plugin.")
    kube_proxy: bool = Field(True, description="false if the plugin replaces kube-proxy.")
    values: Text | None = Field(None, description="Helm values file, for cilium.")


Cni = Annotated[CniSettings, BeforeValidator(_short_cni, json_schema_input_type=str | CniSettings)]


class Bridge(Section):
    name: Text = Field(description="Name, like vmbr1.")
    ports: list[Text] = Field(default_factory=list, description="Physical ports.")
    vlan_aware: bool = Field(True, description="Allow VLAN tags on VMs.")
    address: Text | None = Field(None, description="Address with prefix length, if any.")
    gateway: Address | None = Field(None, description="Default gateway, if any.")
    mtu: Mtu | None = Field(None, description="MTU.")
    comment: Prose | None = Field(None, description="Comment shown in Proxmox.")


class Vlan(Section):
    name: Text = Field(description="Name, like eno1.20.")
    interface: Text | None = Field(None, description="Raw device, if not part of the name.")
    vlan: VlanTag | None = Field(None, description="Tag, if not part of the name.")
    address: Text | None = Field(None, description="Address with prefix length, if any.")
    mtu: Mtu | None = Field(None, description="MTU.")
    comment: Prose | None = Field(None, description="Comment shown in Proxmox.")


class HypervisorNode(Section):
    name: HostName = Field(description="Name of the Proxmox node.")
    bridges: list[Bridge] = Field(default_factory=list, description="Bridges to manage.")
    vlans: list[Vlan] = Field(default_factory=list, description="VLAN interfaces to manage.")


class Storage(Section):
    name: StorageName = Field(description="Storage id.")
    type: Literal["dir", "lvm", "lvmthin", "zfspool", "nfs"] = Field(description="Kind.")
    content: list[Literal["images", "rootdir", "iso", "vztmpl", "backup", "snippets", "import"]] = (
        Field(description="Allowed content types.")
    )
    nodes: list[HostName] = Field(default_factory=list, description="Proxmox nodes; empty = all.")
    path: Text | None = Field(None, description="dir: path on the host.")
    volume_group: Text | None = Field(None, description="lvm, lvmthin: volume group.")
    thin_pool: Text | None = Field(None, description="lvmthin: thin pool.")
    zfs_pool: Text | None = Field(None, description="zfspool: pool or dataset.")
    thin_provision: bool | None = Field(None, description="zfspool: sparse volumes.")
    server: Text | None = Field(None, description="nfs: server.")
    export: Text | None = Field(None, description="nfs: exported path.")


class Role(Section):
    name: RoleName = Field(description="Role id.")
    privileges: list[Text] = Field(description="Privileges, like VM.Audit.")


class User(Section):
    name: UserName = Field(description="User with realm, like talops@pve.")
    comment: Prose | None = Field(None, description="Comment shown in Proxmox.")


class Token(Section):
    user: Text = Field(description="User that the token belongs to.")
    name: TokenName = Field(description="Token id: at least two characters.")
    privilege_separation: bool = Field(True, description="The token has its own permissions.")
    comment: Prose | None = Field(None, description="Comment shown in Proxmox.")


class Acl(Section):
    path: Text = Field(description="Path, like /vms.")
    role: Text = Field(description="Role id.")
    user: Text | None = Field(None, description="User that gets the role.")
    token: Text | None = Field(None, description="Token (user!name) that gets the role.")
    propagate: bool = Field(True, description="Also apply below the path.")


class PciDevice(Section):
    node: HostName = Field(description="Proxmox node.")
    path: Gpu = Field(description="PCI address, like 0000:01:00.0.")
    id: Text = Field(description="vendor:device, like 10de:2204.")
    iommu_group: Annotated[Integer, Field(ge=0)] | None = Field(None, description="IOMMU group.")
    subsystem_id: Text | None = Field(
        None,
        description="Subsystem vendor:device; required if the device has one (lspci -vnn).",
    )


class PciMapping(Section):
    name: Text = Field(description="Name that a node's `gpus` uses.")
    comment: Prose | None = Field(None, description="Comment shown in Proxmox.")
    devices: list[PciDevice] = Field(description="One entry per host that has the device.")


class Pool(Section):
    name: PoolName = Field(description="Pool id.")
    comment: Prose | None = Field(None, description="Comment shown in Proxmox.")


class Hypervisors(Section):
    """Layer 01: the Proxmox settings that talops manages."""

    nodes: list[HypervisorNode] = Field(default_factory=list, description="Proxmox nodes.")
    storages: list[Storage] = Field(default_factory=list, description="Storages.")
    roles: list[Role] = Field(default_factory=list, description="Roles.")
    users: list[User] = Field(default_factory=list, description="Users.")
    tokens: list[Token] = Field(default_factory=list, description="API tokens.")
    acls: list[Acl] = Field(default_factory=list, description="Access rules.")
    pci_mappings: list[PciMapping] = Field(default_factory=list, description="PCI mappings.")
    pools: list[Pool] = Field(default_factory=list, description="Resource pools.")


class LegacyVm(Section):
    """Layer 03: a VM outside the cluster, with its own state."""

    name: DnsLabel = Field(description="Name of the VM.")
    host: HostName | None = Field(None, description="Proxmox node; default: proxmox_node.")
    vm_id: VmId | None = Field(None, description="VMID.")
    description: Prose = Field("", description="Description shown in Proxmox.")
    cores: Count = Field(2, description="Cores per socket.")
    sockets: Count = Field(1, description="CPU sockets.")
    memory: Mebibytes = Field(2048, description="Memory in MiB.")
    disk_size: Gibibytes = Field(32, description="Disk in GiB.")
    disk_storage: StorageName | None = Field(
        None, description="Storage; default: proxmox_disk_storage."
    )
    bios: Literal["ovmf", "seabios"] = Field("ovmf", description="Firmware.")
    os_type: Literal["l26", "l24", "win10", "win11", "other"] = Field("l26", description="OS type.")
    mac_addr: Mac | None = Field(None, description="MAC address.")
    bridge: Text | None = Field(None, description="Bridge; default: the bridge of the cluster.")
    vlan_tag: VlanTag | None = Field(None, description="VLAN tag that Proxmox applies.")
    iso: Text | None = Field(None, description="ISO volume, like local:iso/debian.iso.")
    template_vm_id: VmId | None = Field(None, description="Clone this template instead.")
    started: bool = Field(True, description="Power state.")
    on_boot: bool = Field(True, description="Start with the host.")
    startup_order: Annotated[Integer, Field(ge=0)] | None = Field(None, description="Start order.")
    startup_delay: Seconds | None = Field(
        None, description="Seconds to wait before the next VM starts."
    )
    tags: list[Text] = Field(default_factory=lambda: ["legacy"], description="Tags.")


class TrueNasDataset(Section):
    name: Text = Field(description="Dataset below the pool, like k8s/volumes.")
    quota: Gibibytes | None = Field(None, description="Quota in GiB; unchanged if not set.")
    properties: dict[str, Text] = Field(
        default_factory=dict,
        description="ZFS properties, like compression: zstd; or inherit. Others stay unchanged.",
    )


class TrueNas(Section):
    """Datasets that the stage `storage` creates; the API key is the secret truenas_api_key."""

    url: Url = Field(description="Address of the TrueNAS, like https://nas.example.")
    pool: Text = Field(description="Pool of the datasets.")
    datasets: list[TrueNasDataset] | None = Field(
        None,
        description="For CSI drivers; default: <cluster_name>/volumes and …/snapshots.",
    )
    username: Text | None = Field(
        None, description="Owner of the API key; distinguishes an expired key from a wrong one."
    )
    secret_namespace: DnsLabel = Field(
        "democratic-csi", description="Namespace of the Secret truenas-api with the API key."
    )
    insecure: bool = Field(False, description="Do not verify the certificate.")
    ca_file: Text | None = Field(None, description="CA that signed its certificate.")


class Addons(Section):
    """Add-ons that talops applies before Flux takes over."""

    metrics_server: bool = Field(False, description="metrics-server.")
    nvidia: bool | None = Field(
        None, description="NVIDIA GPUs for pods; default: true if a node has GPUs."
    )
    proxmox_csi: bool = Field(False, description="Credentials secret for the Proxmox CSI plugin.")
    proxmox_csi_storages: list[Text] = Field(
        [], description="Storages for its volumes; default: the storage of the nodes' disks."
    )
    proxmox_ccm: bool = Field(False, description="Credentials secret for the Proxmox CCM.")


class GitOps(Section):
    """Repository, credentials and installation of Flux."""

    url: GitUrl | None = Field(
        None, description="Repository URL; default: repository_name on GitHub."
    )
    path: Text = Field("kubernetes/flux/cluster", description="Folder that Flux syncs.")
    install: Literal["manifest", "cli", "operator"] = Field(
        "manifest",
        description="Install Flux from its manifest, with the flux CLI, or with flux-operator.",
    )
    credentials: Literal["deploy-key", "token"] | None = Field(
        None, description="For a private repository; default: by the url (ssh: deploy-key)."
    )
    ca_file: Text | None = Field(None, description="CA of a private Git server.")
    known_hosts: Text | None = Field(None, description="SSH host keys; default: those of GitHub.")
    interval: Text = Field("10m", description="Sync interval of Flux.")


class Release(Section):
    """A chart or manifest that replaces a pinned one, or an additional one."""

    version: Text = Field(description="Version, as the project writes it.")
    url: Url = Field(description="Download URL; a chart ends in .tgz.")
    sha256: Sha256 = Field(description="SHA-256 of the file.")
    ca_file: Text | None = Field(None, description="CA of a private mirror.")


class DiskSelector(Section):
    """The disk that Talos installs to, by its properties instead of its name."""

    serial: Text | None = Field(None, description="Serial number.")
    model: Text | None = Field(None, description="Model; * matches anything.")
    wwid: Text | None = Field(None, description="World-wide id.")
    size: Text | None = Field(None, description="Size condition, like '>= 100GB'.")
    type: Literal["ssd", "hdd", "nvme", "sd"] | None = Field(None, description="Kind of disk.")
    bus_path: Text | None = Field(None, description="Bus path.")
