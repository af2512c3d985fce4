"""The settings of a VM by the names of layer 02, for the comparison with those that exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.render.values import platform_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Cluster, Node

# Of a node, and of all VMs of the cluster, as layer 02 names them.
OF_NODE = (
    *("host", "vm_id", "mac_address", "cores", "sockets", "memory", "disk_size", "pool", "tpm"),
    *("startup_order", "startup_delay", "shutdown_delay"),
)
OF_ALL = (
    *("bios", "machine", "cpu_type", "scsi_hw", "balloon", "numa", "qemu_agent", "net_queues"),
    *("disk_discard", "disk_ssd", "bridge", "vlan_id", "disk_storage", "tags"),
    *("disk_backup", "disk_replicate", "os_type"),
)


def wanted_vm(cluster: Cluster, node: Node) -> dict[str, Any]:
    """What layer 02 sets for this node; {} without a VM."""
    if cluster.proxmox is None:
        return {}
    values = platform_values(cluster, cluster.proxmox)
    own, shared = values["nodes"][node.name], values["hardware"]
    gpus = [next(iter(gpu.values())) for gpu in own["gpus"]]
    return {
        **{name: own[name] for name in OF_NODE},
        **{name: shared[name] for name in OF_ALL},
        "gpus": gpus,
    }


def vm_differences(existing: Mapping[str, Any], cluster: Cluster, node: Node) -> list[str]:
    """Names of the known settings that layer 02 would change."""
    wanted = wanted_vm(cluster, node)
    return [name for name, value in existing.items() if _plain(value) != _plain(wanted.get(name))]


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, set, frozenset)):
        return sorted(str(item) for item in value)
    return value.lower() if isinstance(value, str) else value
