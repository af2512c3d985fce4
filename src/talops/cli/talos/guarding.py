"""etcd is asked before a `talops talos` command stops a control plane."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.talos.output import name_of
from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.cli.talos.session import Session
    from talops.talos.client import Talos
    from talops.talos.membership import Etcd

AllowUnhealthyEtcd = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-unhealthy-etcd",
        metavar="NODE",
        help="Stop this control plane even if etcd is not healthy; repeatable.",
    ),
]


async def require_etcd(
    session: Session,
    node: Talos,
    allowed: Sequence[str] | None,
    *,
    for_good: bool = False,
) -> None:
    """Raise if another member than those of this command is missing; a worker passes."""
    from talops.talos.errors import PreconditionError
    from talops.talos.membership import objection_to_stop

    if session.insecure or name_of(node) in (allowed or ()):
        return
    found = await _survey(node)
    if found is None:
        return
    name, etcd = found
    if name in (allowed or ()):
        return
    if for_good:  # an unhealthy member may have the only remaining data
        etcd = replace(etcd, troubled={})
    if reason := objection_to_stop(name, etcd):
        raise PreconditionError(
            f"refused to stop {name}: {reason}",
            where=name_of(node),
            hint="repair etcd first: talops talos etcd status; or name the control plane: "
            f"--allow-unhealthy-etcd {name_of(node)}",
        )


def refuse_protected(session: Session) -> None:
    """Raise if one of the nodes is protected by the inventory in this directory."""
    from talops.inventory.load import CLUSTER_FILE, load

    if not (session.directory / CLUSTER_FILE).exists():
        return
    cluster = load(session.directory).cluster
    if cluster is None:  # a damaged inventory is reported by the commands that need it
        return
    from talops.site.protection import require_unprotected

    named = {*session.nodes}
    require_unprotected([n for n in cluster.nodes if named & {n.name, str(n.address)}], "wipe")


async def _survey(node: Talos) -> tuple[str, Etcd] | None:
    """The host name of this member, and what all members report; None if etcd does not run here,
    so that nothing is lost when the node stops.
    """
    from talops.talos.membership import member_address, member_name, survey

    if "etcd" not in {service.id for service in await node.services.list()}:
        return None
    try:
        own = (await node.etcd.status()).member_id
        members = await node.etcd.members(local=True)
    except TalopsError:
        return None
    addresses = {member_name(m): at for m in members if (at := member_address(m))}
    planes = {name: node.node(at) for name, at in addresses.items()}
    name = next((member_name(m) for m in members if m.id == own), "")
    return name, await survey(planes, lambda at: nullcontext(node.node(at)))
