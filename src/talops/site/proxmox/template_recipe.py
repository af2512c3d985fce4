"""The templates from which the VMs of a cluster are cloned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.proxmox.provenance import Provenance
from talops.proxmox.templates import Hardware, Recipe
from talops.site.proxmox.wanted import template_node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.inventory.model import Cluster, Proxmox

KIND = {"image": "qcow2", "iso": "iso"}
SMALLEST_DISK = 10  # GiB; a clone grows to the size its node needs


def recipes(
    cluster: Cluster, hosts: Sequence[str], *, source: str = "image", vm_id: int | None = None
) -> list[Recipe]:
    """One per host; the first has the VMID of the inventory, from which the plan clones."""
    proxmox = cluster.proxmox
    if proxmox is None:
        raise TalopsError("this cluster is on bare metal and needs no template")
    if vm_id is not None and len(hosts) > 1:
        raise TalopsError(
            "VMIDs are unique across all hosts, so --vm-id requires exactly one --host",
            hint="omit --vm-id: each template then gets the next free one",
        )
    planned = proxmox.template
    return [
        _recipe(
            cluster,
            proxmox,
            host,
            source,
            vm_id or (planned.vm_id if planned and host == proxmox.node else None),
        )
        for host in hosts
    ]


def _recipe(
    cluster: Cluster, proxmox: Proxmox, host: str, source: str, vm_id: int | None
) -> Recipe:
    image = template_node(cluster).image
    version, kind = cluster.talos_version, KIND[source]
    advanced = proxmox.advanced
    return Recipe(
        name=proxmox.template.name if proxmox.template else f"talos-{version}-base",
        host=host,
        vm_id=vm_id,
        provenance=Provenance(version, image.schematic, image.platform, image.secureboot, source),
        hardware=Hardware(
            bios=advanced.bios,
            machine=advanced.machine,
            scsi_hw=advanced.scsi_hw,
            cpu_type=advanced.cpu_type,
            bridge=advanced.network_bridge,
            disk_storage=proxmox.disk_storage,
            disk_gib=SMALLEST_DISK,
        ),
        image_storage=proxmox.iso_storage,
        file_name=image.file_name(version, kind),
        url=f"{cluster.image_factory_url}/{image.path(version, kind)}",
    )
