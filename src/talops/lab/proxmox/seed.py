"""A newly installed host: root, the storages, the network cards and the first bridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.access.login import hash_password
from talops.lab.proxmox.hypervisor import token_secret
from talops.lab.proxmox.vm.drives import GIB

if TYPE_CHECKING:
    from talops.lab.proxmox.hypervisor import Hypervisor
    from talops.lab.spec import StorageSpec

TOKEN_NAME = "lab"  # noqa: S105  (the token's name, not its value)


@dataclass(frozen=True)
class Credentials:
    """root's password, and the value of the token `root@pam!lab`, with all of root's rights."""

    password: str
    token: str

    @property
    def api_token(self) -> str:
        return f"root@pam!{TOKEN_NAME}={self.token}"


def seed(pve: Hypervisor, credentials: Credentials) -> None:
    if "root@pam" not in pve.users:
        _install(pve, credentials)
    pve.store.commit()


def _install(pve: Hypervisor, credentials: Credentials) -> None:
    password = hash_password(credentials.password)
    pve.users.put(
        "root@pam", {"userid": "root@pam", "enable": 1, "expire": 0, "password": password}
    )
    token = {"tokenid": TOKEN_NAME, "privsep": 0, "secret": token_secret(credentials.token)}
    pve.tokens.put(f"root@pam!{TOKEN_NAME}", token)
    for storage in pve.spec.storages:
        _add_storage(pve, storage)
    for name, node in pve.nodes.items():
        for number, bridge in enumerate(node.bridges):
            card = f"eno{number + 1}"
            pve.network.put(f"{name}/{card}", {"type": "eth", "active": 1})
            pve.network.put(f"{name}/{bridge}", _bridge(pve, name, card, first=number == 0))
        # One card more than bridges, as in most servers: layer 01 can create a bridge on it.
        spare = f"{name}/eno{len(node.bridges) + 1}"
        pve.network.put(spare, {"type": "eth", "active": 1})
    pve.rights.changed()


def _bridge(pve: Hypervisor, node: str, card: str, *, first: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "bridge",
        "active": 1,
        "autostart": 1,
        "bridge_ports": card,
        "bridge_vlan_aware": 1,
        "bridge_vids": "2-4094",
    }
    address = pve.addresses.get(node)
    if first and address:
        entry |= {"cidr": f"{address}/16", "address": address, "netmask": 16}
    return entry


def _add_storage(pve: Hypervisor, spec: StorageSpec) -> None:
    entry: dict[str, Any] = {
        "storage": spec.storage,
        "type": spec.type,
        "content": spec.content,
        **spec.options,
    }
    if spec.shared:
        entry["shared"] = 1
    if spec.nodes:
        entry["nodes"] = ",".join(spec.nodes)
    if spec.type == "zfspool":
        entry.setdefault("pool", "rpool/data")
    pve.storages.config.put(spec.storage, entry)
    pve.storages.capacity.put(spec.storage, {"bytes": spec.size_gib * GIB})
