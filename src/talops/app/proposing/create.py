"""The answers of `talops init`, from what a Proxmox has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.proposing.choose import propose
from talops.app.proposing.look import look
from talops.errors import TalopsError
from talops.inventory.samples import Answers
from talops.inventory.support import NEW_CLUSTER_KUBERNETES, NEW_CLUSTER_TALOS

if TYPE_CHECKING:
    from pathlib import Path

    from talops.app.proposing.choose import Wish
    from talops.proxmox.client import Access


async def propose_inventory(access: Access, wish: Wish, name: str) -> Answers:
    network, proposal = propose(await look(access, wish.numbers), wish)
    return Answers(
        name=name,
        cidr=network,
        control_planes=wish.controllers,
        workers=wish.workers,
        talos_version=NEW_CLUSTER_TALOS,
        kubernetes_version=NEW_CLUSTER_KUBERNETES,
        proxmox_url=wish.url,
        proxmox_node=proposal.node.value,
        proposal=proposal,
    )


def inside(directory: Path, file: Path) -> str:
    """The path as cluster.yaml names it."""
    found = (directory / file).resolve()
    if not found.is_relative_to(directory.resolve()):
        raise TalopsError(
            f"{file} is not in the directory of the inventory",
            where=str(directory),
            hint=f"copy it there: cp {file} {directory}/pve-ca.pem; then: --ca-file pve-ca.pem",
        )
    return str(found.relative_to(directory.resolve()))
