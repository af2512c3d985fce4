"""Show the resolved inventory as text, JSON or an Ansible inventory."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from talops.redaction import Secret

if TYPE_CHECKING:
    from talops.inventory.model import Cluster, Node

HIDDEN = {"at", "index"}
COLUMNS = ("name", "role", "address", "mac", "host", "vmid", "cpu", "memory", "disk", "schematic")


def as_data(value: Any) -> Any:
    """Plain values for JSON; for secrets only whether they are set."""
    if isinstance(value, Secret):
        return str(value)
    if isinstance(value, BaseModel):
        return as_data(value.model_dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in dataclasses.fields(value) if f.name not in HIDDEN]
        return {name: as_data(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_data(item) for item in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def rows(cluster: Cluster) -> list[dict[str, str]]:
    return [_row(node) for node in cluster.nodes]


def _row(node: Node) -> dict[str, str]:
    vm = node.vm
    return {
        "name": node.name,
        "role": node.role,
        "address": str(node.address),
        "mac": node.mac,
        "host": vm.host if vm else "—",
        "vmid": str(vm.vm_id or "auto") if vm else "—",
        "cpu": f"{vm.sockets}x{vm.cores}" if vm else "—",
        "memory": f"{vm.memory / 1024:g} GiB" if vm else "—",
        "disk": f"{vm.disk_size} GiB" if vm else str(node.disk),
        "schematic": node.image.schematic[:12] + (" sb" if node.image.secureboot else ""),
    }


def ansible(cluster: Cluster) -> dict[str, Any]:
    """An Ansible inventory in JSON: the Proxmox hosts to prepare, and the nodes for reference."""
    hosts = list(cluster.proxmox.hosts) if cluster.proxmox else []
    return {
        "_meta": {
            "hostvars": {
                **{host: {"talops_cluster": cluster.name} for host in hosts},
                **{node.name: _hostvars(node) for node in cluster.nodes},
            }
        },
        "all": {"children": ["proxmox", "talos_control_planes", "talos_workers"]},
        "proxmox": {"hosts": hosts},
        "talos_control_planes": {"hosts": [node.name for node in cluster.control_planes]},
        "talos_workers": {"hosts": [node.name for node in cluster.workers]},
    }


def _hostvars(node: Node) -> dict[str, Any]:
    known: dict[str, Any] = {
        "ansible_host": str(node.address),
        "ansible_connection": "local",  # Talos has no SSH; tasks for nodes run here
        "talos_role": node.role,
        "mac_address": node.mac,
        "talos_schematic": node.image.schematic,
        "gpus": list(node.gpus),
    }
    if node.vm:
        known |= {"proxmox_host": node.vm.host, "vm_id": node.vm.vm_id}
    return known
