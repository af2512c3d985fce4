"""What runs in the cluster and talks to Proxmox: users, tokens and rights of their own.

The privileges are those that the projects document (docs/install.md of
sergelogvinov/proxmox-csi-plugin at a7c58ec, without replication, and of
sergelogvinov/proxmox-cloud-controller-manager at 2e4bc10). There they are granted on `/`. The CSI
plugin gets them on its storages only, and on the pool of the nodes if they have one: with
VM.Config.Disk on all VMs, it could also detach the disks of others. Grants on single VMs would not
last: Proxmox removes them with the VM, and the next `talops up` cannot grant them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.proxmox.needs import Need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.wanted import Wanted

CSI, CCM = "csi", "ccm"
CSI_VM = {
    "VM.Audit": "find the VM of a node and its volumes",
    "VM.Config.Disk": "attach and detach volumes",
}
CSI_STORAGE = {
    "Datastore.Allocate": "attach, resize and delete volumes, which no VM owns",
    "Datastore.AllocateSpace": "create volumes",
    "Datastore.Audit": "read free space and volumes",
}
CCM_EVERYWHERE = {
    "VM.Audit": "find the VM of a node",
    "VM.GuestAgent.Audit": "read the addresses of a node",
    "Sys.Audit": "read hosts and high availability",
}


@dataclass(frozen=True)
class Plugin:
    """`key` is the middle of the names of its values in the encrypted file."""

    key: str
    user: str
    needs: tuple[Need, ...]

    @property
    def token(self) -> str:
        return self.key

    @property
    def token_id(self) -> str:
        return f"{self.user}!{self.token}"

    @property
    def addon(self) -> str:
        return f"proxmox_{self.key}"

    @property
    def id_name(self) -> str:
        return f"{self.addon}_token_id"

    @property
    def value_name(self) -> str:
        return f"{self.addon}_token_secret"


def plugins(wanted: Wanted) -> tuple[Plugin, ...]:
    """Those that the inventory asks for; each cluster has users of its own."""
    found = []
    if wanted.csi_storages:
        found.append(Plugin(CSI, f"{wanted.cluster}-csi@pve", tuple(_csi(wanted))))
    if wanted.ccm:
        found.append(Plugin(CCM, f"{wanted.cluster}-ccm@pve", tuple(_ccm())))
    return tuple(found)


def _csi(wanted: Wanted) -> Iterator[Need]:
    pools = {vm.pool for vm in wanted.vms if vm.cluster_tag == wanted.cluster}
    paths = ["/vms"] if None in pools else [f"/pool/{pool}" for pool in sorted(filter(None, pools))]
    for path in paths:
        for privilege, why in CSI_VM.items():
            yield Need(path, privilege, why, "CSI", deep=path == "/vms")
    for storage in wanted.csi_storages:
        for privilege, why in CSI_STORAGE.items():
            yield Need(f"/storage/{storage}", privilege, why, "CSIStorage")


def _ccm() -> Iterator[Need]:
    for privilege, why in CCM_EVERYWHERE.items():
        yield Need("/", privilege, why, "CCM", deep=True)
