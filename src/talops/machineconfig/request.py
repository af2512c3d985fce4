"""The input of the generator: exactly the values that a machine config needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.machineconfig.contract import Contract


class DiskKey(StrEnum):
    """The key type of an encrypted disk."""

    TPM = "tpm"
    NODE_ID = "nodeID"


@dataclass(frozen=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Patch:
    """One user patch, already parsed; `where` names it in messages."""

    documents: tuple[dict[str, Any], ...]
    where: str


@dataclass(frozen=True)
class ClusterRequest:
    name: str
    contract: Contract
    endpoint: str
    kubernetes_version: str  # without the leading v
    cert_sans: tuple[str, ...] = ()
    vip: str | None = None
    node_subnet: str | None = None
    gateway: str | None = None
    dns: tuple[str, ...] = ()
    ntp: tuple[str, ...] = ()
    vlan: int | None = None  # set only if Talos creates the VLAN link
    dns_domain: str = "cluster.local"
    pod_subnets: tuple[str, ...] = ("10.244.0.0/16",)
    service_subnets: tuple[str, ...] = ("10.96.0.0/12",)
    cni: str = "flannel"  # or none
    kube_proxy: bool = True
    schedule_on_control_planes: bool = False
    nvidia_runtime: bool = False  # pods use a node's GPU through the NVIDIA runtime, not CDI
    registry_mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    patches: tuple[Patch, ...] = ()
    control_plane_patches: tuple[Patch, ...] = ()
    worker_patches: tuple[Patch, ...] = ()


@dataclass(frozen=True)
class NodeRequest:
    name: str
    control_plane: bool
    installer: str
    # A device path, or the fields of diskSelector.
    disk: str | Mapping[str, str]
    hostname: str | None = None  # None: Talos generates a stable one
    mac: str | None = None
    address: str | None = None  # with prefix length
    mtu: int | None = None
    kernel_modules: tuple[str, ...] = ()
    nvidia: bool = False
    disk_key: DiskKey | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    patches: tuple[Patch, ...] = ()
