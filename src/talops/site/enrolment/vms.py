"""The VMs of nodes as Proxmox shows them: what their machines must report about themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.proxmox.vm_configs import vm_configs
from talops.site.enrolment.proof import KnownVm
from talops.site.proxmox.access import access_of
from talops.tofu.identity import read_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from talops.inventory.model import Node
    from talops.site.site import Site


async def known_vms(site: Site, nodes: Sequence[Node]) -> dict[str, KnownVm | str]:
    """Node → its VM, or why it is not known. Proxmox that does not answer is an error."""
    wanted = [node for node in nodes if node.vm]
    if not wanted:
        return {}
    access = access_of(site)
    if access is None:
        reason = "its VM is not known, because there are no credentials for Proxmox"
        return {node.name: reason for node in wanted}
    from talops.proxmox.client import Client  # imports httpx, which most runs do not need

    ids = {node.vm.vm_id for node in wanted if node.vm and node.vm.vm_id}
    names = {node.name for node in wanted if node.vm and not node.vm.vm_id}
    async with Client(access) as client:
        configs = await vm_configs(client, ids, names)
    verified = not access.insecure
    return {
        node.name: choose(node, site.cluster.name, configs, verified=verified) for node in wanted
    }


def choose(
    node: Node, cluster: str, configs: Sequence[Mapping[str, Any]], *, verified: bool = True
) -> KnownVm | str:
    """The one VM with the name, the tag and the MAC of the node, and its VMID if it has one. Pure.

    The name and the VMID alone do not make a VM ours.
    """
    vm_id = node.vm.vm_id if node.vm else None
    same = [
        config
        for config in configs
        if not config.get("template")
        and (config["vmid"] == vm_id if vm_id else config.get("name") == node.name)
    ]
    fitting, lacking = [], []
    for config in same:
        found = read_config(config["vmid"], config)
        place = f"VM {config['vmid']} on {config['node']}"
        if found.name != node.name:
            lacking.append(f"{place} is called {found.name or 'nothing'}")
        elif cluster not in found.tags:
            lacking.append(f"{place} lacks the tag {cluster}")
        elif node.mac not in found.macs:
            lacking.append(f"{place} lacks the MAC {node.mac}")
        elif not found.uuid:
            lacking.append(f"{place} has no uuid in smbios1")
        else:
            fitting.append(KnownVm(place, found.uuid, found.macs, verified))
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        return f"several VMs fit: {', '.join(vm.place for vm in fitting)}"
    return "; ".join(lacking) or "Proxmox does not show its VM"
