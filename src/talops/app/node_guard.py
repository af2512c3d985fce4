"""What must be true before a command stops or wipes a node outside of a run."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.app.talos_nodes import name_of
from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from talops.talos.client import Talos
    from talops.talos.membership import Etcd


async def require_etcd(
    node: Talos, allowed: Collection[str] = (), *, for_good: bool = False, leaves: bool = False
) -> None:
    """Raise if etcd does not survive without this node; a worker passes. `leaves`: etcd does not
    count it any more.
    """
    from talops.talos.errors import PreconditionError
    from talops.talos.membership import objection_to_leave, objection_to_stop

    if name_of(node) in allowed:
        return
    found = await _survey(node, only_restart=not (for_good or leaves))
    if found is None:
        return
    name, etcd = found
    if name in allowed:
        return
    if for_good:  # an unhealthy member may have the only remaining data
        etcd = replace(etcd, troubled={})
    if reason := (objection_to_leave if leaves else objection_to_stop)(name, etcd):
        raise PreconditionError(
            f"refused to stop {name}: {reason}",
            where=name_of(node),
            hint="repair etcd first: talops talos etcd status; or name the control plane: "
            f"--allow-unhealthy-etcd {name_of(node)}",
        )


async def require_quorum(node: Talos) -> None:
    """Raise if a member may not be absent; a worker passes."""
    from talops.talos import quorum
    from talops.talos.membership import member_address

    if "etcd" not in {service.id for service in await node.services.list()}:
        return
    addresses = [member_address(member) for member in await node.etcd.members()]
    if None in addresses:
        raise TalopsError("an etcd member has not started yet", hint="talops talos etcd members")
    await quorum.require([node.node(address) for address in addresses if address])


def refuse_protected(directory: Path, nodes: Collection[str]) -> None:
    """Raise if one of these names or addresses is protected by the inventory in this directory."""
    from talops.inventory.load import CLUSTER_FILE, load
    from talops.site.protection import require_unprotected

    if not (directory / CLUSTER_FILE).exists():
        return
    cluster = load(directory).cluster
    if cluster is None:  # a damaged inventory is reported by the commands that need it
        return
    named = {*nodes}
    require_unprotected([n for n in cluster.nodes if named & {n.name, str(n.address)}], "wipe")


async def _survey(node: Talos, *, only_restart: bool) -> tuple[str, Etcd] | None:
    """The host name of this member, and what all members report; None if etcd does not run here,
    so that nothing is lost when the node stops.
    """
    from talops.talos.membership import member_address, member_name, survey

    etcd = next((service for service in await node.services.list() if service.id == "etcd"), None)
    if etcd is None:
        return None
    try:
        own = (await node.etcd.status()).member_id
        members = await node.etcd.members(local=True)
    except TalopsError as error:
        if etcd.healthy or not only_restart:  # its data may be the only that remains
            raise _unread(node, error) from error
        return None  # its etcd does not serve: a restart takes nothing away
    addresses = {member_name(m): at for m in members if (at := member_address(m))}
    planes = {name: node.node(at) for name, at in addresses.items()}
    name = next((member_name(m) for m in members if m.id == own), "")
    return name, await survey(planes, lambda at: nullcontext(node.node(at)))


def _unread(node: Talos, error: TalopsError) -> TalopsError:
    """A member that cannot be asked may be one that etcd needs."""
    from talops.talos.errors import PreconditionError

    return PreconditionError(
        f"refused to stop {name_of(node)}: its etcd cannot be asked: {error.what}",
        where=name_of(node),
        hint="run the same command again; or name the control plane: --allow-unhealthy-etcd "
        f"{name_of(node)}",
    )
